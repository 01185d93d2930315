resource "google_project_iam_audit_config" "this" {
  for_each = toset(var.audit_logs ? ["iam.googleapis.com", "secretmanager.googleapis.com"] : [])

  project = var.project_id
  service = each.value

  dynamic "audit_log_config" {
    for_each = ["ADMIN_READ", "DATA_READ", "DATA_WRITE"]

    content {
      log_type = audit_log_config.value
    }
  }
}
