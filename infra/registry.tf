# What is run: the server's images, and those that are built of the functions.

locals {
  repositories = { images = "The server's images", functions = "Images of the functions" }
}

resource "google_artifact_registry_repository" "this" {
  for_each = local.repositories

  repository_id = "${var.name}-${each.key}"
  location      = var.region
  format        = "DOCKER"
  description   = each.value

  # What a revision runs is kept by Cloud Run itself, so this bounds how far one can roll back.
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
