resource "google_firestore_database" "default" {
  name        = "(default)"
  location_id = coalesce(var.firestore_location, var.region)
  type        = "FIRESTORE_NATIVE"

  point_in_time_recovery_enablement = var.point_in_time_recovery ? "POINT_IN_TIME_RECOVERY_ENABLED" : "POINT_IN_TIME_RECOVERY_DISABLED"
  delete_protection_state           = var.delete_protection ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"
  deletion_policy                   = var.delete_protection ? "PREVENT" : "DELETE"

  depends_on = [time_sleep.enabled]
}

resource "google_firestore_backup_schedule" "daily" {
  count = var.daily_backup_days > 0 ? 1 : 0

  database  = google_firestore_database.default.name
  retention = "${var.daily_backup_days * 24 * 3600}s"

  daily_recurrence {}
}

resource "google_firestore_backup_schedule" "weekly" {
  count = var.weekly_backup_weeks > 0 ? 1 : 0

  database  = google_firestore_database.default.name
  retention = "${var.weekly_backup_weeks * 7 * 24 * 3600}s"

  weekly_recurrence {
    day = "SUNDAY"
  }
}
