locals {
  channels = google_monitoring_notification_channel.email[*].name

  # Filters on the types of the metrics in metrics.tf.
  log_metric = { for key, m in google_logging_metric.this : key => "metric.type=\"logging.googleapis.com/user/${m.name}\"" }

  # A filter on the requests to the service.
  requests = "metric.type=\"run.googleapis.com/request_count\" AND ${local.of_hub}"

  # The time of three runs, but at most 23.5 hours, the longest absence that Cloud Monitoring detects. A daily sweep
  # raises no false alert, because the alignment period of an hour extends each run.
  sweep_silence = { for name, s in local.sweeps : name => min(3 * s.everySeconds, 84600) }
}

resource "google_monitoring_notification_channel" "email" {
  count = var.alert_email == null ? 0 : 1

  display_name = "${var.name} operator"
  type         = "email"
  labels       = { email_address = var.alert_email }

  depends_on = [time_sleep.enabled]
}

resource "google_monitoring_alert_policy" "errors" {
  display_name          = "${var.name}: calls answered with 5xx"
  combiner              = "AND"
  severity              = "CRITICAL"
  notification_channels = local.channels

  conditions {
    display_name = "share of 5xx in 5 minutes"

    condition_threshold {
      filter             = "${local.requests} AND metric.labels.response_code_class=\"5xx\""
      denominator_filter = local.requests
      comparison         = "COMPARISON_GT"
      threshold_value    = var.error_ratio
      duration           = "0s"

      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = "ALIGN_DELTA"
        cross_series_reducer = "REDUCE_SUM"
        group_by_fields      = ["resource.label.service_name"]
      }
      denominator_aggregations {
        alignment_period     = "300s"
        per_series_aligner   = "ALIGN_DELTA"
        cross_series_reducer = "REDUCE_SUM"
        group_by_fields      = ["resource.label.service_name"]
      }
    }
  }

  # One failure among a few calls is no alert.
  conditions {
    display_name = "number of 5xx in 5 minutes"

    condition_threshold {
      filter          = "${local.requests} AND metric.labels.response_code_class=\"5xx\""
      comparison      = "COMPARISON_GT"
      threshold_value = 5
      duration        = "0s"

      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = "ALIGN_DELTA"
        cross_series_reducer = "REDUCE_SUM"
        group_by_fields      = ["resource.label.service_name"]
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "The log of the service has a line with `severity=ERROR` and the `cause` for each. If the failures began with a deployment, roll back. A 503 with `Retry-After` means that a limit was reached: allow more instances, or more calls for each."
  }

  depends_on = [google_cloud_run_v2_service.hub]
}

resource "google_monitoring_alert_policy" "slow" {
  display_name          = "${var.name}: operations are slow"
  combiner              = "OR"
  severity              = "WARNING"
  notification_channels = local.channels

  conditions {
    display_name = "p95 of operations that cannot wait"

    condition_threshold {
      filter          = "${local.log_metric["operation_duration"]} AND resource.type=\"cloud_run_revision\""
      comparison      = "COMPARISON_GT"
      threshold_value = var.p95_milliseconds
      duration        = "600s"

      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = "ALIGN_DELTA"
        cross_series_reducer = "REDUCE_PERCENTILE_95"
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "The metric has the operation as a label, which shows whether one operation is slow or all are. If all are, look at Firestore's latency and contention, and at the CPU of the instances. After a pause, the first calls wait for an instance to start."
  }

  depends_on = [time_sleep.metrics]
}

resource "google_monitoring_alert_policy" "functions" {
  display_name          = "${var.name}: functions fail"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = local.channels

  dynamic "conditions" {
    for_each = {
      function_failures = { type = "cloud_run_revision", more_than = var.function_failures }
      events_dropped    = { type = "cloud_run_revision", more_than = 0 }
      schedule_failures = { type = "cloud_scheduler_job", more_than = var.function_failures }
    }

    content {
      display_name = local.metrics[conditions.key].description

      condition_threshold {
        filter          = "${local.log_metric[conditions.key]} AND resource.type=\"${conditions.value.type}\""
        comparison      = "COMPARISON_GT"
        threshold_value = conditions.value.more_than
        duration        = "0s"

        aggregations {
          alignment_period     = "600s"
          per_series_aligner   = "ALIGN_DELTA"
          cross_series_reducer = "REDUCE_SUM"
        }
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "The log of the function has the `cause`. Failed events are delivered again for a day. An `event dropped` is not, and means a missed notification."
  }

  depends_on = [time_sleep.metrics]
}

resource "google_monitoring_alert_policy" "sweep" {
  for_each = local.sweeps

  display_name          = "${var.name}: the sweep of ${each.key} did not run"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = local.channels

  conditions {
    display_name = "nothing was heard of it"

    condition_absent {
      filter   = "${local.log_metric["sweeps"]} AND resource.type=\"cloud_run_revision\" AND metric.labels.sweep=\"${each.key}\""
      duration = "${local.sweep_silence[each.key]}s"

      aggregations {
        alignment_period     = each.value.everySeconds < 3600 ? "60s" : "3600s"
        per_series_aligner   = "ALIGN_DELTA"
        cross_series_reducer = "REDUCE_SUM"
      }
    }
  }

  # A counter may report 0 instead of being absent.
  dynamic "conditions" {
    for_each = each.value.everySeconds < 3600 ? [true] : []

    content {
      display_name = "no run went well"

      condition_threshold {
        filter          = "${local.log_metric["sweeps"]} AND resource.type=\"cloud_run_revision\" AND metric.labels.sweep=\"${each.key}\""
        comparison      = "COMPARISON_LT"
        threshold_value = 1
        duration        = "0s"

        aggregations {
          alignment_period     = "${local.sweep_silence[each.key]}s"
          per_series_aligner   = "ALIGN_DELTA"
          cross_series_reducer = "REDUCE_SUM"
        }
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = "Check whether the Scheduler job `${var.name}-${each.key}` is paused, and the answer to its last attempt. The next run finds the work of the missed ones, so no data is lost."
  }

  depends_on = [time_sleep.metrics]
}
