output "mcp_url" {
  description = "Where agents connect."
  value       = "${local.public_url}/mcp"
}

output "rest_url" {
  description = "Where the REST twins of the tools are."
  value       = "${local.public_url}/v1"
}

output "service_url" {
  description = "The service's own URL, which a domain of yours leads to."
  value       = local.service_url
}

output "image_repository" {
  description = "Where the server's images are pushed."
  value       = "${google_artifact_registry_repository.this["images"].location}-docker.pkg.dev/${var.project_id}/${google_artifact_registry_repository.this["images"].repository_id}"
}

output "image" {
  description = "The image that is served, to go back to."
  value       = var.image
}

output "functions" {
  description = "The functions by their entry points."
  value       = local.function_names
}

output "service_accounts" {
  description = "Who each unit acts as."
  value       = { for unit, account in google_service_account.unit : unit => account.email }
}
