locals {
  hub_env = merge({
    PARLEY_STORE         = "firestore"
    PARLEY_PUBLIC_URL    = local.public_url
    PARLEY_TRUST_PROXY   = tostring(local.trust_proxy)
    GOOGLE_CLOUD_PROJECT = var.project_id
    },
    length(var.sign_in_allow) == 0 ? {} : { PARLEY_SIGN_IN_ALLOW = join(",", var.sign_in_allow) },
    length(var.allowed_origins) == 0 ? {} : { PARLEY_ALLOWED_ORIGINS = join(",", var.allowed_origins) },
    var.rate == null ? {} : { PARLEY_RATE = tostring(var.rate) },
    var.burst == null ? {} : { PARLEY_BURST = tostring(var.burst) },
  )
  # Cloud Run appends the caller's address to X-Forwarded-For. A load balancer appends the caller's and its own.
  trust_proxy = var.trust_proxy != null ? var.trust_proxy : var.ingress == "load-balancer" ? 2 : 1
  ingress = {
    all           = "INGRESS_TRAFFIC_ALL"
    internal      = "INGRESS_TRAFFIC_INTERNAL_ONLY"
    load-balancer = "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER"
  }
}

resource "google_cloud_run_v2_service" "hub" {
  name                = var.name
  location            = var.region
  description         = "Parley: MCP and REST"
  ingress             = local.ingress[var.ingress]
  deletion_protection = var.delete_protection

  # Callers have keys of Parley and no Google account; the server refuses calls without a key.
  invoker_iam_disabled = true

  template {
    service_account                  = google_service_account.unit["hub"].email
    timeout                          = "${var.request_timeout_seconds}s"
    max_instance_request_concurrency = var.concurrency
    execution_environment            = "EXECUTION_ENVIRONMENT_GEN2"

    scaling {
      min_instance_count = var.min_instances
      max_instance_count = var.max_instances
    }

    containers {
      image = var.image

      ports {
        container_port = 8080
      }

      resources {
        limits            = { cpu = tostring(var.cpu), memory = var.memory }
        cpu_idle          = !var.cpu_always
        startup_cpu_boost = true
      }

      dynamic "env" {
        for_each = local.hub_env

        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = google_secret_manager_secret_version.firebase_api_key

        content {
          name = "PARLEY_FIREBASE_API_KEY"

          value_source {
            secret_key_ref {
              secret  = google_secret_manager_secret.firebase_api_key[0].secret_id
              version = env.value.version
            }
          }
        }
      }

      dynamic "env" {
        for_each = var.vapid_key_version > 0 ? [tostring(var.vapid_key_version)] : []

        content {
          name = "PARLEY_VAPID_KEY"

          value_source {
            secret_key_ref {
              secret  = google_secret_manager_secret.vapid_key.secret_id
              version = env.value
            }
          }
        }
      }

      # Probes often, so that the instance receives calls as soon as the server answers.
      startup_probe {
        period_seconds    = 2
        timeout_seconds   = 1
        failure_threshold = 30

        http_get {
          path = "/v1/health"
        }
      }

      liveness_probe {
        period_seconds    = 30
        timeout_seconds   = 5
        failure_threshold = 3

        http_get {
          path = "/v1/health"
        }
      }
    }
  }

  traffic {
    type    = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"
    percent = 100
  }

  lifecycle {
    precondition {
      condition     = var.image != null
      error_message = "image must be set: run infra/deploy, which builds one, or set the variable."
    }
  }

  # A revision starts only after the indexes that its queries need are built.
  depends_on = [
    time_sleep.roles, google_firestore_index.composite, google_firestore_field.override,
    google_secret_manager_secret_iam_member.vapid_key,
  ]
}
