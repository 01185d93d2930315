output "mcp_url" {
  description = "The URL that agents connect to."
  value       = "${local.public_url}/mcp"
}

output "rest_url" {
  description = "The base URL of the REST routes."
  value       = "${local.public_url}/v1"
}

output "service_url" {
  description = "The service's own URL, to which a domain of yours leads."
  value       = local.service_url
}

output "image_repository" {
  description = "The repository that the server's images are pushed to."
  value       = "${google_artifact_registry_repository.this["images"].location}-docker.pkg.dev/${var.project_id}/${google_artifact_registry_repository.this["images"].repository_id}"
}

output "vapid_secret" {
  description = "The secret with the VAPID key of Web Push, whose versions infra/deploy adds."
  value       = google_secret_manager_secret.vapid_key.secret_id
}

output "image" {
  description = "The deployed image, for a later rollback."
  value       = var.image
}

output "functions" {
  description = "Names of the functions by their entry points."
  value       = local.function_names
}

output "service_accounts" {
  description = "Service account of each unit."
  value       = { for unit, account in google_service_account.unit : unit => account.email }
}
