locals {
  # Google checks from outside, which internal ingress refuses.
  uptime = var.uptime_check_minutes > 0 && var.ingress != "internal"
  host   = trimprefix(local.public_url, "https://")
}

resource "google_monitoring_uptime_check_config" "health" {
  count = local.uptime ? 1 : 0

  display_name = "${var.name}: health"
  period       = "${var.uptime_check_minutes * 60}s"
  timeout      = "10s"

  http_check {
    path         = "/v1/health"
    use_ssl      = true
    validate_ssl = true
  }

  monitored_resource {
    type   = "uptime_url"
    labels = { project_id = var.project_id, host = local.host }
  }

  content_matchers {
    matcher = "CONTAINS_STRING"
    content = "\"success\":true"
  }

  depends_on = [time_sleep.enabled]
}

resource "google_monitoring_alert_policy" "down" {
  count = local.uptime ? 1 : 0

  display_name          = "${var.name}: the server does not answer"
  combiner              = "OR"
  severity              = "CRITICAL"
  notification_channels = local.channels

  conditions {
    display_name = "asked from two places or more"

    condition_threshold {
      filter          = "metric.type=\"monitoring.googleapis.com/uptime_check/check_passed\" AND resource.type=\"uptime_url\" AND metric.labels.check_id=\"${google_monitoring_uptime_check_config.health[0].uptime_check_id}\""
      comparison      = "COMPARISON_GT"
      threshold_value = 1
      duration        = "60s"

      aggregations {
        alignment_period     = "1200s"
        per_series_aligner   = "ALIGN_NEXT_OLDER"
        cross_series_reducer = "REDUCE_COUNT_FALSE"
        group_by_fields      = ["resource.label.host"]
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "Request ${local.public_url}/v1/health yourself. If the failure began with a deployment, roll back. Check that a domain of yours still leads to ${local.service_url}."
  }
}
