# The server's images, and the images that are built from the functions.

locals {
  repositories = { images = "The server's images", functions = "Images of the functions" }
}

resource "google_artifact_registry_repository" "this" {
  for_each = local.repositories

  repository_id = "${var.name}-${each.key}"
  location      = var.region
  format        = "DOCKER"
  description   = each.value

  # Cloud Run keeps the images of its revisions itself. This policy limits how far a rollback can go without a build.
  cleanup_policies {
    id     = "keep-newest"
    action = "KEEP"
    most_recent_versions {
      keep_count = 10
    }
  }
  cleanup_policies {
    id     = "delete-old"
    action = "DELETE"
    condition {
      tag_state  = "ANY"
      older_than = "2592000s"
    }
  }

  depends_on = [time_sleep.enabled]
}
