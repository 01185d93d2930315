# Agents' keys need no secret: the database holds only their hashes.

resource "google_secret_manager_secret" "firebase_api_key" {
  count = var.firebase_api_key_version > 0 ? 1 : 0

  secret_id = "${var.name}-firebase-api-key"

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [time_sleep.enabled]
}

resource "google_secret_manager_secret_version" "firebase_api_key" {
  count = var.firebase_api_key_version > 0 ? 1 : 0

  secret                 = google_secret_manager_secret.firebase_api_key[0].id
  secret_data_wo         = var.firebase_api_key
  secret_data_wo_version = var.firebase_api_key_version

  # After a rollback, an older revision reads its own version of the key.
  deletion_policy = "ABANDON"
}

resource "google_secret_manager_secret_iam_member" "hub" {
  count = var.firebase_api_key_version > 0 ? 1 : 0

  secret_id = google_secret_manager_secret.firebase_api_key[0].id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.unit["hub"].member
}

# The VAPID key of Web Push. infra/deploy makes it and adds it as a version, so that it never passes through Terraform.
resource "google_secret_manager_secret" "vapid_key" {
  secret_id = "${var.name}-vapid-key"

  replication {
    user_managed {
      replicas {
        location = var.region
      }
    }
  }

  depends_on = [time_sleep.enabled]
}

# The server tells browsers the public half of the key, and the functions after a change sign with it.
resource "google_secret_manager_secret_iam_member" "vapid_key" {
  for_each = toset(["hub", "triggers"])

  secret_id = google_secret_manager_secret.vapid_key.id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.unit[each.key].member
}
