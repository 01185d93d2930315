# What the logs tell and no metric of Google's does. The service and the functions write a
# line of JSON an operation, a sweep and an event that came to nothing.

locals {
  metrics = {
    # A wait of up to 55 seconds is no slowness, so the latency of requests says nothing.
    operation_took = {
      description = "Durations of operations that cannot wait for anything"
      filter      = "${local.of_hub} AND jsonPayload.message=\"operation\" AND NOT jsonPayload.op=(${join(" OR ", [for o in local.function_file.waiting : "\"${o}\""])})"
      value       = "EXTRACT(jsonPayload.took)"
      labels      = ["op", "transport"]
    }
    operation_faults = {
      description = "Operations that were refused or failed, by the kind of fault"
      filter      = "${local.of_hub} AND jsonPayload.message=\"operation\" AND jsonPayload.fault:*"
      value       = null
      labels      = ["op", "fault"]
    }
    function_failures = {
      description = "Errors of functions, answers of 5xx among them"
      filter      = "${local.of_functions} AND severity>=ERROR"
      value       = null
      labels      = []
    }
    events_dropped = {
      description = "Changes of which nobody was told, because no redelivery would have helped"
      filter      = "${local.of_functions} AND severity>=ERROR AND jsonPayload.message=\"event dropped\""
      value       = null
      labels      = ["reaction"]
    }
    sweeps = {
      description = "Runs of sweeps that went well"
      filter      = "${local.of_functions} AND severity=INFO AND jsonPayload.message=\"sweep\""
      value       = null
      labels      = ["sweep"]
    }
    schedule_failures = {
      description = "Sweeps that could not be started, or that answered an error"
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
    unit        = each.value.value == null ? "1" : "ns"

    dynamic "labels" {
      for_each = each.value.labels

      content {
        key = labels.value
      }
    }
  }

  # From a tenth of a millisecond to a minute and a half, in steps of a fifth.
  dynamic "bucket_options" {
    for_each = each.value.value == null ? [] : [true]

    content {
      exponential_buckets {
        scale              = 100000
        growth_factor      = 1.2
        num_finite_buckets = 75
      }
    }
  }

  depends_on = [time_sleep.enabled]
}

# A metric that was just made is not known to alerts for a while yet. The functions take
# longer than this to be built.
resource "time_sleep" "metrics" {
  create_duration = "120s"
  triggers        = { metrics = join(",", [for m in google_logging_metric.this : m.name]) }
}
