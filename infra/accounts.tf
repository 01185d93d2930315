# Service accounts and their roles. Each unit has an account of its own. A role is granted here, or beside the one
# resource that it is granted on.

locals {
  accounts = merge({
    hub      = "The server"
    triggers = "Functions that send notifications"
    sweeps   = "Functions that tidy up"
    eventarc = "Delivers changes of documents to the functions that send notifications"
    build    = "Builds the functions"
  }, { for name, s in local.sweeps : "clock-${name}" => "Starts the sweep of ${name} when it is due" })

  # Roles on the whole project: Firestore has no smaller scope.
  project_roles = {
    hub      = ["roles/datastore.user", "roles/firebaseauth.viewer"]
    triggers = ["roles/datastore.user", "roles/firebasecloudmessaging.admin"]
    sweeps   = ["roles/datastore.user"]
    eventarc = ["roles/eventarc.eventReceiver"]
    build    = ["roles/logging.logWriter"]
  }
}

resource "google_service_account" "unit" {
  for_each = local.accounts

  account_id   = "${var.name}-${each.key}"
  display_name = each.value

  depends_on = [time_sleep.enabled]
}

resource "google_project_iam_member" "unit" {
  for_each = merge([for unit, roles in local.project_roles : { for role in roles : "${unit} ${role}" => { unit = unit, role = role } }]...)

  project = var.project_id
  role    = each.value.role
  member  = google_service_account.unit[each.value.unit].member
}

# A build writes its image, and reads the archive: the one uploaded here, and the copy that Cloud Functions makes in a
# bucket of its own.
resource "google_artifact_registry_repository_iam_member" "build" {
  location   = google_artifact_registry_repository.this["functions"].location
  repository = google_artifact_registry_repository.this["functions"].name
  role       = "roles/artifactregistry.writer"
  member     = google_service_account.unit["build"].member
}

resource "google_storage_bucket_iam_member" "build" {
  bucket = google_storage_bucket.functions.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.unit["build"].member
}

resource "google_project_iam_member" "build_copy" {
  project = var.project_id
  role    = "roles/storage.objectViewer"
  member  = google_service_account.unit["build"].member

  condition {
    title      = "copies-of-function-sources"
    expression = "resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-${data.google_project.this.number}-${var.region}\")"
  }
}

# A new role takes effect after a delay, during which a build, a trigger or a revision with a secret would fail.
resource "time_sleep" "roles" {
  create_duration = "60s"
  triggers = {
    project = join(",", [for m in google_project_iam_member.unit : m.role])
    secret  = join(",", google_secret_manager_secret_iam_member.hub[*].role)
  }

  depends_on = [
    google_project_iam_member.unit,
    google_project_iam_member.build_copy,
    google_artifact_registry_repository_iam_member.build,
    google_storage_bucket_iam_member.build,
    google_secret_manager_secret_iam_member.hub,
  ]
}
