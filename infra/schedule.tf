locals {
  # A sweep runs at its interval in minutes, or, if it is due once a day, at 03:17 UTC.
  cron = { for name, s in local.sweeps : name => s.everySeconds < 3600 ? "*/${s.everySeconds / 60} * * * *" : "17 3 * * *" }
}

resource "google_cloud_scheduler_job" "sweep" {
  for_each = local.sweeps

  name             = "${var.name}-${each.key}"
  region           = var.region
  description      = "Starts ${each.value.function}"
  schedule         = local.cron[each.key]
  time_zone        = "Etc/UTC"
  attempt_deadline = "${local.sweep_deadline}s"

  # Only daily sweeps are retried; the next run of the others comes within minutes.
  dynamic "retry_config" {
    for_each = each.value.everySeconds < 3600 ? [] : [true]

    content {
      retry_count          = 3
      min_backoff_duration = "60s"
      max_backoff_duration = "600s"
    }
  }

  http_target {
    http_method = "POST"
    uri         = google_cloudfunctions2_function.sweep[each.key].service_config[0].uri

    oidc_token {
      service_account_email = google_service_account.unit["clock-${each.key}"].email
      audience              = google_cloudfunctions2_function.sweep[each.key].service_config[0].uri
    }
  }

  depends_on = [google_cloud_run_v2_service_iam_member.sweep]
}
