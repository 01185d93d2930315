# The rules for apps that read and write the database without the server.

locals {
  # The rules compare e-mail addresses and domains in lower case; the case of a user's ID counts.
  sign_in_list = [for entry in var.sign_in_allow : strcontains(entry, "@") ? lower(entry) : entry]
  no_list      = "function allowed() { return []; }"
  rules        = file("${path.module}/generated/firestore.rules")
}

resource "google_firebaserules_ruleset" "firestore" {
  source {
    files {
      name    = "firestore.rules"
      content = replace(local.rules, local.no_list, "function allowed() { return ${jsonencode(local.sign_in_list)}; }")
    }
  }

  # A released ruleset cannot be deleted.
  lifecycle {
    create_before_destroy = true

    precondition {
      condition     = strcontains(local.rules, local.no_list)
      error_message = "generated/firestore.rules has no place for sign_in_allow: the people of the list would be refused."
    }
  }

  depends_on = [google_firestore_database.default]
}

resource "google_firebaserules_release" "firestore" {
  name         = "cloud.firestore"
  ruleset_name = google_firebaserules_ruleset.firestore.id
}
