# The APIs that the project needs, and values derived from the project.

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

  # The service's URL is computed before the service exists, because the server and the functions need it.
  service_url = "https://${var.name}-${data.google_project.this.number}.${var.region}.run.app"
  public_url  = coalesce(var.public_url, local.service_url)
}

# APIs stay enabled on destroy, because other parts of the project may use them.
resource "google_project_service" "enabled" {
  for_each = toset(local.services)

  service            = each.value
  disable_on_destroy = false
}

# A new API takes effect after a delay, and Google creates its service agents a little later than that.
resource "time_sleep" "enabled" {
  create_duration = "60s"
  triggers        = { services = join(",", local.services) }

  depends_on = [google_project_service.enabled]
}

data "google_project" "this" {
  project_id = var.project_id
}
