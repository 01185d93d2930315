# The cheapest configuration: nothing costs money without calls, and nothing protects it from being destroyed.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}
mock_provider "time" {}

variables {
  project_id             = "my-project"
  region                 = "us-central1"
  firestore_location     = "nam5"
  name                   = "p1"
  image                  = "us-central1-docker.pkg.dev/my-project/p1-images/parley@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  functions_zip          = "tests/functions.zip.txt"
  delete_protection      = false
  point_in_time_recovery = false
  daily_backup_days      = 0
  max_instances          = 1
  cpu_always             = false
  uptime_check_minutes   = 0
}

run "smallest" {
  assert {
    condition     = google_cloud_run_v2_service.hub.template[0].containers[0].resources[0].cpu_idle && google_cloud_run_v2_service.hub.template[0].scaling[0].max_instance_count == 1
    error_message = "Calls are paid for, and nothing else."
  }
  assert {
    condition     = google_firestore_database.default.delete_protection_state == "DELETE_PROTECTION_DISABLED" && google_firestore_database.default.deletion_policy == "DELETE" && !google_cloud_run_v2_service.hub.deletion_protection
    error_message = "It can be taken down again."
  }
  assert {
    condition     = google_firestore_database.default.point_in_time_recovery_enablement == "POINT_IN_TIME_RECOVERY_DISABLED" && length(google_firestore_backup_schedule.daily) + length(google_firestore_backup_schedule.weekly) == 0
    error_message = "No copies are kept."
  }
  assert {
    condition     = alltrue([for f in google_cloudfunctions2_function.reaction : f.event_trigger[0].trigger_region == "nam5" && f.location == "us-central1"])
    error_message = "A trigger is where the database is, its function where the service is."
  }
  assert {
    condition     = length(google_monitoring_uptime_check_config.health) + length(google_monitoring_alert_policy.down) == 0
    error_message = "Nobody keeps an instance awake."
  }
  assert {
    condition     = length(google_cloudfunctions2_function.reaction) + length(google_cloudfunctions2_function.sweep) == 7 && length([for f in google_firestore_field.override : f if length(f.ttl_config) == 1]) >= 9
    error_message = "What keeps the data right is there, however small it is."
  }
  assert {
    condition     = alltrue([for a in google_service_account.unit : length(a.account_id) >= 6])
    error_message = "Google takes no account id under 6 characters: ${jsonencode([for a in google_service_account.unit : a.account_id])}."
  }
}
