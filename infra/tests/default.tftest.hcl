# The default configuration: only a project, a region and an image are given.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}
mock_provider "time" {}

variables {
  project_id    = "my-project"
  region        = "europe-west1"
  image         = "europe-west1-docker.pkg.dev/my-project/parley-images/parley@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  functions_zip = "tests/functions.zip.txt"
}

run "urls" {
  assert {
    condition     = output.mcp_url == "https://parley-123456789012.europe-west1.run.app/mcp" && output.rest_url == "https://parley-123456789012.europe-west1.run.app/v1"
    error_message = "The URLs are ${output.mcp_url} and ${output.rest_url}."
  }
  assert {
    condition     = output.image_repository == "europe-west1-docker.pkg.dev/my-project/parley-images" && startswith(var.image, "${output.image_repository}/")
    error_message = "Images are pushed to ${output.image_repository}."
  }
}

run "service" {
  command = plan # on the state applied above

  assert {
    condition     = google_cloud_run_v2_service.hub.template[0].containers[0].resources[0].cpu_idle == false
    error_message = "Without CPU between calls the ledger is not flushed."
  }
  assert {
    condition     = tonumber(trimsuffix(google_cloud_run_v2_service.hub.template[0].timeout, "s")) > 75
    error_message = "A call may wait for 55 seconds, and the server ends it after 75."
  }
  assert {
    condition = alltrue([for p in [google_cloud_run_v2_service.hub.template[0].containers[0].startup_probe[0], google_cloud_run_v2_service.hub.template[0].containers[0].liveness_probe[0]] :
    p.http_get[0].path == "/v1/health" && p.timeout_seconds < p.period_seconds])
    error_message = "Both probes ask for /v1/health, and not again before they gave up."
  }
  assert {
    condition     = google_cloud_run_v2_service.hub.template[0].containers[0].startup_probe[0].failure_threshold * google_cloud_run_v2_service.hub.template[0].containers[0].startup_probe[0].period_seconds <= 240
    error_message = "Cloud Run lets a start take 240 seconds."
  }
  assert {
    condition = { for e in google_cloud_run_v2_service.hub.template[0].containers[0].env : e.name => e.value } == {
      PARLEY_STORE         = "firestore"
      GOOGLE_CLOUD_PROJECT = "my-project"
      PARLEY_PUBLIC_URL    = "https://parley-123456789012.europe-west1.run.app"
      PARLEY_TRUST_PROXY   = "1"
    }
    error_message = "The server is told ${jsonencode(google_cloud_run_v2_service.hub.template[0].containers[0].env)}."
  }
  assert {
    condition     = google_cloud_run_v2_service.hub.invoker_iam_disabled && google_cloud_run_v2_service.hub.deletion_protection
    error_message = "Agents have no Google account, and the service is protected."
  }
  assert {
    condition     = google_cloud_run_v2_service.hub.template[0].scaling[0].min_instance_count == 0 && google_cloud_run_v2_service.hub.template[0].scaling[0].max_instance_count == 4
    error_message = "Nothing runs when nothing is asked, and four instances at most."
  }
}

run "database" {
  command = plan # on the state applied above

  assert {
    condition     = google_firestore_database.default.type == "FIRESTORE_NATIVE" && google_firestore_database.default.location_id == "europe-west1"
    error_message = "The database is a native one where the service is."
  }
  assert {
    condition = (google_firestore_database.default.delete_protection_state == "DELETE_PROTECTION_ENABLED" && google_firestore_database.default.deletion_policy == "PREVENT" &&
    google_firestore_database.default.point_in_time_recovery_enablement == "POINT_IN_TIME_RECOVERY_ENABLED")
    error_message = "The database cannot be deleted, and one can go back in time."
  }
  assert {
    condition     = one(google_firestore_backup_schedule.daily).retention == "604800s"
    error_message = "A day's backup is kept for a week."
  }
  assert {
    condition     = length(google_firestore_index.composite) == length(jsondecode(file("generated/firestore.indexes.json")).indexes)
    error_message = "There are ${length(google_firestore_index.composite)} composite indexes."
  }
  assert {
    condition = alltrue([for x in google_firestore_index.composite : length(x.fields) > 1 && alltrue([for f in x.fields :
    (f.order == null) != (f.array_config == null)])])
    error_message = "Each field of an index has an order or is an array, and not both."
  }
  assert {
    condition = (toset([for f in google_firestore_field.override : f.collection if length(f.ttl_config) == 1]) ==
    toset([for f in jsondecode(file("generated/firestore.indexes.json")).fieldOverrides : f.collectionGroup if f.fieldPath == "purgeAt"]))
    error_message = "Some collection has a purgeAt and no TTL policy."
  }
  assert {
    condition     = length([for f in google_firestore_field.override : f if length(f.ttl_config) == 1]) >= 9 && alltrue([for f in google_firestore_field.override : f.field == "purgeAt" if length(f.ttl_config) == 1])
    error_message = "TTL stands on purgeAt, and on nothing else."
  }
  assert {
    condition = alltrue([for f in jsondecode(file("generated/firestore.indexes.json")).fieldOverrides :
    length(google_firestore_field.override["${f.collectionGroup}.${f.fieldPath}"].index_config) == 1 && length(google_firestore_field.override["${f.collectionGroup}.${f.fieldPath}"].index_config[0].indexes) == length(f.indexes)])
    error_message = "A field has other indexes than the code declares."
  }
  assert {
    condition     = google_firebaserules_release.firestore.name == "cloud.firestore" && one(one(google_firebaserules_ruleset.firestore.source).files).content == file("generated/firestore.rules")
    error_message = "The rules are released to the database."
  }
}

run "functions" {
  command = plan # on the state applied above

  assert {
    condition = (toset([for f in merge(google_cloudfunctions2_function.reaction, google_cloudfunctions2_function.sweep) : f.build_config[0].entry_point]) ==
    toset(["OnTaskCreate", "OnTaskUpdate", "OnSessionUpdate", "CleanupExpiredSessions", "CleanupOrphanedTasks", "CleanupExpiredRelay", "CleanupLedger"]))
    error_message = "The seven functions are others: ${jsonencode(keys(output.functions))}."
  }
  assert {
    condition     = output.functions["OnTaskCreate"] == "parley-on-task-create" && output.functions["CleanupExpiredRelay"] == "parley-cleanup-expired-relay"
    error_message = "The functions are named ${jsonencode(output.functions)}."
  }
  assert {
    condition     = alltrue([for f in google_cloudfunctions2_function.reaction : f.event_trigger[0].retry_policy == "RETRY_POLICY_RETRY" && f.event_trigger[0].trigger_region == "europe-west1"])
    error_message = "Each event is delivered again until it is settled, and comes from where the database is."
  }
  assert {
    condition = ({ for entry, f in google_cloudfunctions2_function.reaction : entry => [f.event_trigger[0].event_type, one([for e in f.event_trigger[0].event_filters : e.value if e.operator == "match-path-pattern"])] } == {
      OnTaskCreate    = ["google.cloud.firestore.document.v1.created", "users/{uid}/tasks/{id}"]
      OnTaskUpdate    = ["google.cloud.firestore.document.v1.updated", "users/{uid}/tasks/{id}"]
      OnSessionUpdate = ["google.cloud.firestore.document.v1.updated", "users/{uid}/sessions/{id}"]
    })
    error_message = "A function reacts to something else."
  }
  assert {
    condition     = alltrue([for f in google_cloudfunctions2_function.reaction : f.service_config[0].timeout_seconds > 60])
    error_message = "A reaction may take 60 seconds."
  }
  assert {
    condition = alltrue([for name, f in google_cloudfunctions2_function.sweep :
      f.service_config[0].timeout_seconds > tonumber(f.service_config[0].environment_variables["PARLEY_SWEEP_SECONDS"]) &&
    tonumber(trimsuffix(google_cloud_scheduler_job.sweep[name].attempt_deadline, "s")) > f.service_config[0].timeout_seconds])
    error_message = "A sweep is to answer before its function ends, and that before the schedule gives up."
  }
  assert {
    condition = ({ for name, j in google_cloud_scheduler_job.sweep : name => j.schedule } ==
    { sessions = "*/5 * * * *", tasks = "*/5 * * * *", relay = "*/15 * * * *", ledger = "17 3 * * *" })
    error_message = "The sweeps run ${jsonencode({ for name, j in google_cloud_scheduler_job.sweep : name => j.schedule })}."
  }
  assert {
    condition     = alltrue([for f in merge(google_cloudfunctions2_function.reaction, google_cloudfunctions2_function.sweep) : f.service_config[0].ingress_settings == "ALLOW_INTERNAL_ONLY"])
    error_message = "Nobody on the internet reaches a function."
  }
  assert {
    condition = alltrue([for f in merge(google_cloudfunctions2_function.reaction, google_cloudfunctions2_function.sweep) :
      f.build_config[0].source[0].storage_source[0].object == "functions-${filesha256(var.functions_zip)}.zip" &&
      f.build_config[0].runtime == "go126" &&
    f.service_config[0].environment_variables["PARLEY_PUBLIC_URL"] == "https://parley-123456789012.europe-west1.run.app"])
    error_message = "All functions are of the one archive, and lead to the server."
  }
}

run "least_privilege" {
  command = plan # on the state applied above

  assert {
    condition = ({ for key, m in google_project_iam_member.unit : key => m.role } == {
      "hub roles/datastore.user"                    = "roles/datastore.user"
      "hub roles/firebaseauth.viewer"               = "roles/firebaseauth.viewer"
      "triggers roles/datastore.user"               = "roles/datastore.user"
      "triggers roles/firebasecloudmessaging.admin" = "roles/firebasecloudmessaging.admin"
      "sweeps roles/datastore.user"                 = "roles/datastore.user"
      "eventarc roles/eventarc.eventReceiver"       = "roles/eventarc.eventReceiver"
      "build roles/logging.logWriter"               = "roles/logging.logWriter"
    })
    error_message = "Somebody has another role on the project: ${jsonencode(keys(google_project_iam_member.unit))}."
  }
  assert {
    condition = alltrue([for role in concat([for m in google_project_iam_member.unit : m.role], [google_project_iam_member.build_copy.role]) :
    !contains(["roles/owner", "roles/editor", "roles/viewer"], role) && !can(regex("^roles/(iam|resourcemanager)\\.", role))])
    error_message = "Nobody is Owner or Editor, or gives roles."
  }
  assert {
    condition     = startswith(google_project_iam_member.build_copy.condition[0].expression, "resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-123456789012-europe-west1\"")
    error_message = "A build reads buckets that are none of its own."
  }
  assert {
    condition = alltrue([for name, m in google_cloud_run_v2_service_iam_member.sweep :
    m.role == "roles/run.invoker" && m.member == google_service_account.unit["clock-${name}"].member && m.name == google_cloudfunctions2_function.sweep[name].name])
    error_message = "A clock starts its own sweep, and no other."
  }
  assert {
    condition     = alltrue([for name, j in google_cloud_scheduler_job.sweep : j.http_target[0].oidc_token[0].service_account_email == google_service_account.unit["clock-${name}"].email])
    error_message = "A clock shows who it is."
  }
  assert {
    condition     = length(toset([for a in google_service_account.unit : a.account_id])) == 9 && alltrue([for a in google_service_account.unit : length(a.account_id) >= 6 && length(a.account_id) <= 30])
    error_message = "There are other accounts than one a unit: ${jsonencode(keys(google_service_account.unit))}."
  }
  assert {
    condition     = google_storage_bucket.functions.uniform_bucket_level_access && google_storage_bucket.functions.public_access_prevention == "enforced"
    error_message = "The archive is nobody else's."
  }
  assert {
    condition     = length(google_secret_manager_secret.firebase_api_key) == 0 && length(google_project_iam_audit_config.this) == 0
    error_message = "Nothing was asked for."
  }
  assert {
    condition     = !contains(google_cloud_run_v2_service.hub.template[0].containers[0].env[*].name, "PARLEY_VAPID_KEY")
    error_message = "There is no VAPID key to read yet."
  }
}

run "watched" {
  command = plan # on the state applied above

  assert {
    condition     = google_monitoring_alert_policy.errors.combiner == "AND" && google_monitoring_alert_policy.errors.conditions[0].condition_threshold[0].threshold_value == 0.05
    error_message = "5 of 100 calls that fail are an alert."
  }
  assert {
    condition     = google_monitoring_alert_policy.slow.conditions[0].condition_threshold[0].threshold_value == 1000
    error_message = "A p95 of a second is an alert; durations are nanoseconds."
  }
  assert {
    condition     = alltrue([for o in ["get_messages", "get_tasks", "ask_question"] : strcontains(google_logging_metric.this["operation_duration"].filter, "\"${o}\"")])
    error_message = "What waits is not slow."
  }
  assert {
    condition     = toset(keys(google_monitoring_alert_policy.sweep)) == toset(keys(google_cloud_scheduler_job.sweep))
    error_message = "A sweep is not watched."
  }
  assert {
    condition = alltrue([for name, p in google_monitoring_alert_policy.sweep :
      strcontains(p.conditions[0].condition_absent[0].filter, "metric.labels.sweep=\"${name}\"") &&
      tonumber(trimsuffix(p.conditions[0].condition_absent[0].duration, "s")) <= 84600 &&
    tonumber(trimsuffix(p.conditions[0].condition_absent[0].duration, "s")) % 60 == 0])
    error_message = "An absence is seen after whole minutes, and within 23.5 hours."
  }
  assert {
    condition     = length(google_monitoring_alert_policy.functions.conditions) == 3
    error_message = "Functions fail in three ways."
  }
  assert {
    condition     = one(google_monitoring_uptime_check_config.health).monitored_resource[0].labels["host"] == "parley-123456789012.europe-west1.run.app" && one(google_monitoring_uptime_check_config.health).period == "300s"
    error_message = "The server's health is asked for every 5 minutes."
  }
  assert {
    condition     = length(google_billing_budget.monthly) == 0 && length(google_monitoring_notification_channel.email) == 0 && !contains(keys(google_project_service.enabled), "billingbudgets.googleapis.com")
    error_message = "Nothing was asked for."
  }
}
