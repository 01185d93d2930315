# A hardened configuration: instances that always run, a domain of its own, sign-in, and a recipient of alerts.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
  mock_resource "google_secret_manager_secret_version" {
    defaults = { version = "3" }
  }
}
mock_provider "time" {}

variables {
  project_id               = "my-project"
  region                   = "europe-west1"
  firestore_location       = "eur3"
  name                     = "parley-prod1"
  labels                   = { cost = "agents" }
  image                    = "europe-west1-docker.pkg.dev/my-project/parley-prod1-images/parley@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  functions_zip            = "tests/functions.zip.txt"
  public_url               = "https://parley.example.org"
  ingress                  = "load-balancer"
  allowed_origins          = ["https://a.example.org", "https://b.example.org"]
  min_instances            = 2
  max_instances            = 20
  cpu                      = 2
  memory                   = "1Gi"
  rate                     = 10
  burst                    = 20
  sign_in_allow            = ["uid-1", "Ann@example.org", "@corp.example"]
  firebase_api_key         = "not a real key"
  firebase_api_key_version = 3
  vapid_key_version        = 2
  weekly_backup_weeks      = 14
  audit_logs               = true
  alert_email              = "operator@example.org"
  uptime_check_minutes     = 1
  billing_account          = "012345-6789AB-CDEF01"
  monthly_budget           = 200
}

run "hardened" {
  assert {
    condition     = output.mcp_url == "https://parley.example.org/mcp" && output.service_url == "https://parley-prod1-123456789012.europe-west1.run.app"
    error_message = "Agents are told ${output.mcp_url}."
  }
  assert {
    condition     = google_cloud_run_v2_service.hub.ingress == "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER" && google_cloud_run_v2_service.hub.template[0].scaling[0].min_instance_count == 2
    error_message = "Two instances wait behind the load balancer."
  }
  assert {
    condition = ({ for e in google_cloud_run_v2_service.hub.template[0].containers[0].env : e.name => e.value if length(e.value_source) == 0 } == {
      PARLEY_STORE           = "firestore"
      GOOGLE_CLOUD_PROJECT   = "my-project"
      PARLEY_PUBLIC_URL      = "https://parley.example.org"
      PARLEY_ALLOWED_ORIGINS = "https://a.example.org,https://b.example.org"
      PARLEY_RATE            = "10"
      PARLEY_BURST           = "20"
      PARLEY_TRUST_PROXY     = "2"
      PARLEY_SIGN_IN_ALLOW   = "uid-1,Ann@example.org,@corp.example"
    })
    error_message = "The server is told something else."
  }
  assert {
    condition     = strcontains(one(one(google_firebaserules_ruleset.firestore.source).files).content, "function allowed() { return [\"uid-1\",\"ann@example.org\",\"@corp.example\"]; }")
    error_message = "The rules admit other people than the server."
  }
  assert {
    condition = [for e in google_cloud_run_v2_service.hub.template[0].containers[0].env : [e.name, e.value_source[0].secret_key_ref[0].secret, e.value_source[0].secret_key_ref[0].version] if length(e.value_source) > 0] == [
      ["PARLEY_FIREBASE_API_KEY", "parley-prod1-firebase-api-key", "3"],
    ["PARLEY_VAPID_KEY", "parley-prod1-vapid-key", "2"]]
    error_message = "The keys come from Secret Manager, in the versions that were given."
  }
  assert {
    condition = alltrue([for f in google_cloudfunctions2_function.reaction : [for e in f.service_config[0].secret_environment_variables : [e.key, e.secret, e.version]] == [
    ["PARLEY_VAPID_KEY", "parley-prod1-vapid-key", "2"]]])
    error_message = "A function that sends notifications lacks the VAPID key."
  }
  assert {
    condition     = alltrue([for f in google_cloudfunctions2_function.sweep : length(f.service_config[0].secret_environment_variables) == 0])
    error_message = "A sweep reads the VAPID key."
  }
  assert {
    condition     = { for unit, m in google_secret_manager_secret_iam_member.vapid_key : unit => m.member } == { for unit in ["hub", "triggers"] : unit => google_service_account.unit[unit].member }
    error_message = "Others read the VAPID key."
  }
  assert {
    condition     = google_secret_manager_secret_version.firebase_api_key[0].secret_data == null
    error_message = "The key is in the state."
  }
  assert {
    condition     = one(google_secret_manager_secret_iam_member.hub).role == "roles/secretmanager.secretAccessor" && one(google_secret_manager_secret_iam_member.hub).member == google_service_account.unit["hub"].member
    error_message = "The server reads its secret, and nobody else does."
  }
  assert {
    condition     = one(google_firestore_backup_schedule.weekly).retention == "8467200s" && one(google_firestore_backup_schedule.weekly).weekly_recurrence[0].day == "SUNDAY" && length(google_firestore_backup_schedule.daily) == 1
    error_message = "A Sunday's backup is kept for 14 weeks."
  }
  assert {
    condition = alltrue([for p in concat([google_monitoring_alert_policy.errors, google_monitoring_alert_policy.slow, google_monitoring_alert_policy.functions], values(google_monitoring_alert_policy.sweep), google_monitoring_alert_policy.down) :
    p.notification_channels == tolist([one(google_monitoring_notification_channel.email).name])])
    error_message = "An alert tells nobody."
  }
  assert {
    condition     = one(google_monitoring_uptime_check_config.health).monitored_resource[0].labels["host"] == "parley.example.org" && one(google_monitoring_uptime_check_config.health).period == "60s"
    error_message = "Health is asked for where agents ask."
  }
  assert {
    condition     = one(google_billing_budget.monthly).amount[0].specified_amount[0].units == "200" && one(google_billing_budget.monthly).budget_filter[0].projects == toset(["projects/123456789012"]) && contains(keys(google_project_service.enabled), "billingbudgets.googleapis.com")
    error_message = "The budget is 200 for this project alone."
  }
  assert {
    condition     = length(google_project_iam_audit_config.this) == 2
    error_message = "Who reads secrets is in the log."
  }
  assert {
    condition     = alltrue([for a in google_service_account.unit : length(a.account_id) <= 30]) && alltrue([for n in values(output.functions) : length(n) <= 49])
    error_message = "A name is too long for Google."
  }
}
