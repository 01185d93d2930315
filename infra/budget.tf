resource "google_billing_budget" "monthly" {
  count = var.billing_account == null ? 0 : 1

  billing_account = var.billing_account
  display_name    = "${var.name} in ${var.project_id}"

  budget_filter {
    projects        = ["projects/${data.google_project.this.number}"]
    calendar_period = "MONTH"
  }

  amount {
    specified_amount {
      units = tostring(var.monthly_budget)
    }
  }

  dynamic "threshold_rules" {
    for_each = [0.5, 0.9, 1]

    content {
      threshold_percent = threshold_rules.value
    }
  }
  threshold_rules {
    threshold_percent = 1
    spend_basis       = "FORECASTED_SPEND"
  }

  # The billing account's administrators get the alerts too.
  dynamic "all_updates_rule" {
    for_each = var.alert_email == null ? [] : [true]

    content {
      monitoring_notification_channels = local.channels
    }
  }

  depends_on = [time_sleep.enabled]
}
