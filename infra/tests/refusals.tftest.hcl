# Invalid configurations are refused before any resource is created.

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

run "each_variable_is_validated" {
  command = plan

  variables {
    project_id               = "123456789012" # its number
    region                   = "europe-west1-b"
    firestore_location       = "europe"
    name                     = "parley-of-the-agents"
    image                    = "europe-west1-docker.pkg.dev/my-project/parley-images/parley:v1"
    public_url               = "https://parley.example.org/"
    allowed_origins          = ["https://example.org/app"]
    min_instances            = 0.5
    concurrency              = 0
    cpu                      = 0.5
    request_timeout_seconds  = 55
    rate                     = -1
    burst                    = 0
    trust_proxy              = -1
    sign_in_allow            = ["*@example.org"]
    firebase_api_key_version = -1
    vapid_key_version        = 0.5
    daily_backup_days        = 99
    weekly_backup_weeks      = 15
    sweep_seconds            = 300
    trigger_max_instances    = 0
    alert_email              = "operator"
    uptime_check_minutes     = 3
    error_ratio              = 5
    p95_milliseconds         = 0
    function_failures        = -1
    billing_account          = "My account"
    monthly_budget           = 0
  }

  expect_failures = [
    var.project_id,
    var.region,
    var.firestore_location,
    var.name,
    var.image,
    var.public_url,
    var.allowed_origins,
    var.min_instances,
    var.concurrency,
    var.cpu,
    var.request_timeout_seconds,
    var.rate,
    var.burst,
    var.trust_proxy,
    var.sign_in_allow,
    var.firebase_api_key_version,
    var.vapid_key_version,
    var.daily_backup_days,
    var.weekly_backup_weeks,
    var.sweep_seconds,
    var.trigger_max_instances,
    var.alert_email,
    var.uptime_check_minutes,
    var.error_ratio,
    var.p95_milliseconds,
    var.function_failures,
    var.billing_account,
    var.monthly_budget,
  ]
}

run "variables_that_depend_on_others_are_validated" {
  command = plan

  variables {
    ingress       = "public"
    max_instances = 0
    memory        = "256Mi"
  }

  expect_failures = [var.ingress, var.max_instances, var.memory]
}

run "opposite_limits_are_validated" {
  command = plan

  variables {
    name                    = "p"
    image                   = "parley"
    public_url              = "http://parley.example.org"
    concurrency             = 1001
    request_timeout_seconds = 3601
    sweep_seconds           = 10
    max_instances           = 101
    trust_proxy             = 1.5
    sign_in_allow           = ["ann", "local"]
    error_ratio             = 0
    daily_backup_days       = 1.5
    monthly_budget          = 9.5
  }

  expect_failures = [
    var.name,
    var.image,
    var.public_url,
    var.concurrency,
    var.request_timeout_seconds,
    var.sweep_seconds,
    var.max_instances,
    var.trust_proxy,
    var.sign_in_allow,
    var.error_ratio,
    var.daily_backup_days,
    var.monthly_budget,
  ]
}

run "contradicting_variables_are_refused" {
  command = plan

  variables {
    ingress       = "load-balancer"
    min_instances = 3
    max_instances = 2
    cpu           = 4
    memory        = "1Gi"
    cpu_always    = false
  }

  expect_failures = [
    var.ingress,
    var.max_instances,
    var.memory,
    var.cpu_always,
  ]
}

run "a_missing_image_is_refused" {
  command = plan

  variables {
    image = null
  }

  expect_failures = [
    google_cloud_run_v2_service.hub,
  ]
}
