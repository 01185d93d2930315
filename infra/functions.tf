# The functions, all built from one archive. generated/functions.json, which comes from the code, lists them and their
# triggers.

locals {
  function_file = jsondecode(file("${path.module}/generated/functions.json"))
  reactions     = { for r in local.function_file.reactions : r.name => r }
  sweeps        = { for s in local.function_file.sweeps : s.name => s }

  # OnTaskCreate becomes parley-on-task-create, which is also a valid name of a Cloud Run service.
  function_names = {
    for entry in concat(keys(local.reactions), [for s in local.sweeps : s.function]) :
    entry => "${var.name}${lower(replace(entry, "/([A-Z])/", "-$1"))}"
  }

  # A reaction ends after 60 seconds, and a sweep after sweep_seconds. Their timeouts are longer, so that both return an
  # answer of their own, and callers wait longer still.
  reaction_timeout = 90
  sweep_timeout    = var.sweep_seconds + 30
  sweep_deadline   = local.sweep_timeout + 15

  # The Go version of go.mod.
  runtime = "go126"

  function_env = { GOOGLE_CLOUD_PROJECT = var.project_id, PARLEY_PUBLIC_URL = local.public_url }
}

resource "google_storage_bucket" "functions" {
  name     = "${var.project_id}-${var.name}-functions"
  location = var.region

  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true

  depends_on = [time_sleep.enabled]
}

# Named by the digest of its content, so that functions are built again when, and only when, the content changes.
resource "google_storage_bucket_object" "functions" {
  name   = "functions-${filesha256(var.functions_zip)}.zip"
  bucket = google_storage_bucket.functions.name
  source = var.functions_zip

  lifecycle {
    create_before_destroy = true
  }
}

resource "google_cloudfunctions2_function" "reaction" {
  for_each = local.reactions

  name        = local.function_names[each.key]
  location    = var.region
  description = "${each.key}, after a change of users/{uid}/${each.value.collection}/{id}"

  build_config {
    runtime           = local.runtime
    entry_point       = each.key
    service_account   = google_service_account.unit["build"].id
    docker_repository = google_artifact_registry_repository.this["functions"].id

    source {
      storage_source {
        bucket = google_storage_bucket.functions.name
        object = google_storage_bucket_object.functions.name
      }
    }
  }

  service_config {
    service_account_email            = google_service_account.unit["triggers"].email
    environment_variables            = local.function_env
    ingress_settings                 = "ALLOW_INTERNAL_ONLY"
    timeout_seconds                  = local.reaction_timeout
    available_cpu                    = "1"
    available_memory                 = "256M"
    max_instance_request_concurrency = 20
    max_instance_count               = var.trigger_max_instances
    all_traffic_on_latest_revision   = true

    dynamic "secret_environment_variables" {
      for_each = var.vapid_key_version > 0 ? [tostring(var.vapid_key_version)] : []

      content {
        key        = "PARLEY_VAPID_KEY"
        project_id = var.project_id
        secret     = google_secret_manager_secret.vapid_key.secret_id
        version    = secret_environment_variables.value
      }
    }
  }

  event_trigger {
    event_type            = each.value.eventType
    trigger_region        = google_firestore_database.default.location_id
    retry_policy          = "RETRY_POLICY_RETRY"
    service_account_email = google_service_account.unit["eventarc"].email

    event_filters {
      attribute = "database"
      value     = google_firestore_database.default.name
    }
    event_filters {
      attribute = "namespace"
      value     = "(default)"
    }
    event_filters {
      attribute = "document"
      operator  = "match-path-pattern"
      value     = "users/{uid}/${each.value.collection}/{id}"
    }
  }

  depends_on = [
    time_sleep.roles, google_firestore_index.composite, google_firestore_field.override,
    google_secret_manager_secret_iam_member.vapid_key,
  ]
}

resource "google_cloudfunctions2_function" "sweep" {
  for_each = local.sweeps

  name        = local.function_names[each.value.function]
  location    = var.region
  description = "${each.value.function}, every ${each.value.everySeconds / 60} minutes"

  build_config {
    runtime           = local.runtime
    entry_point       = each.value.function
    service_account   = google_service_account.unit["build"].id
    docker_repository = google_artifact_registry_repository.this["functions"].id

    source {
      storage_source {
        bucket = google_storage_bucket.functions.name
        object = google_storage_bucket_object.functions.name
      }
    }
  }

  service_config {
    service_account_email            = google_service_account.unit["sweeps"].email
    environment_variables            = merge(local.function_env, { PARLEY_SWEEP_SECONDS = tostring(var.sweep_seconds) })
    ingress_settings                 = "ALLOW_INTERNAL_ONLY"
    timeout_seconds                  = local.sweep_timeout
    available_cpu                    = "1"
    available_memory                 = "256M"
    max_instance_request_concurrency = 1
    max_instance_count               = 1
    all_traffic_on_latest_revision   = true
  }

  depends_on = [time_sleep.roles, google_firestore_index.composite, google_firestore_field.override]
}

# The callers of each function. A function's Cloud Run service has the function's name.
resource "google_cloud_run_v2_service_iam_member" "reaction" {
  for_each = local.reactions

  name     = google_cloudfunctions2_function.reaction[each.key].name
  location = var.region
  role     = "roles/run.invoker"
  member   = google_service_account.unit["eventarc"].member
}

resource "google_cloud_run_v2_service_iam_member" "sweep" {
  for_each = local.sweeps

  name     = google_cloudfunctions2_function.sweep[each.key].name
  location = var.region
  role     = "roles/run.invoker"
  member   = google_service_account.unit["clock-${each.key}"].member
}
