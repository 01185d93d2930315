# What the project must offer, and what is derived from it.

locals {
  services = concat([
    "artifactregistry.googleapis.com",
    "cloudbuild.googleapis.com",
    "cloudfunctions.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "cloudscheduler.googleapis.com",
    "eventarc.googleapis.com",
    "fcm.googleapis.com",
    "firebaserules.googleapis.com",
    "firestore.googleapis.com",
    "iam.googleapis.com",
    "identitytoolkit.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "pubsub.googleapis.com",
    "run.googleapis.com",
    "secretmanager.googleapis.com",
    "storage.googleapis.com",
  ], var.billing_account == null ? [] : ["billingbudgets.googleapis.com"])

  labels = merge({ app = var.name }, var.labels)

  # A service's URL can be told before there is one, so that the server and the functions
  # can be told it too.
  service_url = "https://${var.name}-${data.google_project.this.number}.${var.region}.run.app"
  public_url  = coalesce(var.public_url, local.service_url)
}

# Another part of the project may use what is enabled here: nothing is disabled again.
resource "google_project_service" "enabled" {
  for_each = toset(local.services)

  service            = each.value
  disable_on_destroy = false
}

# An API that was just enabled is refused for a while yet, and the agents that Google makes
# for it come a little later than the API.
resource "time_sleep" "enabled" {
  create_duration = "60s"
  triggers        = { services = join(",", local.services) }

  depends_on = [google_project_service.enabled]
}

data "google_project" "this" {
  project_id = var.project_id
}
