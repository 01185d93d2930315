# Metrics from the logs, where Google has none. The service and the functions write a line of JSON for each operation,
# sweep and dropped event.

locals {
  metrics = {
    # Calls may wait up to 55 seconds on purpose, so the latency of requests is no measure.
    operation_duration = {
      description = "Durations of operations that cannot wait"
      filter      = "${local.of_hub} AND jsonPayload.message=\"operation\" AND NOT jsonPayload.op=(${join(" OR ", [for o in local.function_file.waiting : "\"${o}\""])})"
      value       = "EXTRACT(jsonPayload.durationMs)"
      labels      = ["op", "transport"]
    }
    operation_faults = {
      description = "Operations that were refused or failed, by the kind of error"
      filter      = "${local.of_hub} AND jsonPayload.message=\"operation\" AND jsonPayload.fault:*"
      value       = null
      labels      = ["op", "fault"]
    }
    function_failures = {
      description = "Errors of functions, including answers of 5xx"
      filter      = "${local.of_functions} AND severity>=ERROR"
      value       = null
      labels      = []
    }
    events_dropped = {
      description = "Events that were dropped because no redelivery would have helped"
      filter      = "${local.of_functions} AND severity>=ERROR AND jsonPayload.message=\"event dropped\""
      value       = null
      labels      = ["reaction"]
    }
    sweeps = {
      description = "Successful runs of sweeps"
      filter      = "${local.of_functions} AND severity=INFO AND jsonPayload.message=\"sweep\""
      value       = null
      labels      = ["sweep"]
    }
    schedule_failures = {
      description = "Sweeps that could not be started, or that returned an error"
      filter      = "resource.type=\"cloud_scheduler_job\" AND resource.labels.job_id=(${join(" OR ", [for name in keys(local.sweeps) : "\"${var.name}-${name}\""])}) AND severity>=ERROR"
      value       = null
      labels      = []
    }
  }

  of_hub       = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=\"${var.name}\""
  of_functions = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=(${join(" OR ", [for n in values(local.function_names) : "\"${n}\""])})"
}

resource "google_logging_metric" "this" {
  for_each = local.metrics

  name            = "${var.name}-${replace(each.key, "_", "-")}"
  description     = each.value.description
  filter          = each.value.filter
  value_extractor = each.value.value

  label_extractors = { for l in each.value.labels : l => "EXTRACT(jsonPayload.${l})" }

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = each.value.value == null ? "INT64" : "DISTRIBUTION"
    unit        = each.value.value == null ? "1" : "ms"

    dynamic "labels" {
      for_each = each.value.labels

      content {
        key = labels.value
      }
    }
  }

  # From 0.1 ms to about 90 s, each bucket 1.2 times as wide as the previous one.
  dynamic "bucket_options" {
    for_each = each.value.value == null ? [] : [true]

    content {
      exponential_buckets {
        scale              = 0.1
        growth_factor      = 1.2
        num_finite_buckets = 75
      }
    }
  }

  depends_on = [time_sleep.enabled]
}

# Alerts can use a new metric only after a delay. Building the functions takes longer than this.
resource "time_sleep" "metrics" {
  create_duration = "120s"
  triggers        = { metrics = join(",", [for m in google_logging_metric.this : m.name]) }
}
