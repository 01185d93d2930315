variable "project_id" {
  description = "ID of the Google Cloud project, which must have billing."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "project_id must be the ID of a project (6 to 30 lower-case letters, digits and hyphens), not its name or number."
  }
}

variable "region" {
  description = "Region of the service, the functions and the images."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "region must be a region such as europe-west1, not a zone."
  }
}

variable "firestore_location" {
  description = "Location of the database: a region, or nam5, nam7 or eur3. It can never be changed. Default: region."
  type        = string
  default     = null

  validation {
    condition     = var.firestore_location == null || can(regex("^([a-z]+-[a-z]+[0-9]+|nam5|nam7|eur3)$", var.firestore_location))
    error_message = "firestore_location must be a region such as europe-west1, or nam5, nam7 or eur3."
  }
}

variable "name" {
  description = "Name of the service, and prefix of every other name."
  type        = string
  default     = "parley"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,10}[a-z0-9]$", var.name))
    error_message = "name must be 2 to 12 lower-case letters, digits and hyphens, and begin with a letter."
  }
}

variable "labels" {
  description = "Labels of all resources that have labels, in addition to app."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "image" {
  description = "The server's image, by its digest. infra/deploy builds it and sets this variable."
  type        = string
  default     = null

  validation {
    condition     = var.image == null || can(regex("^[a-z0-9.-]+/[a-z0-9./_-]+@sha256:[0-9a-f]{64}$", var.image))
    error_message = "image must name an image by its digest, HOST/PATH@sha256:…; a tag may mean another image tomorrow."
  }
}

variable "functions_zip" {
  description = "Archive of the functions, written by make functions-zip."
  type        = string
  default     = "../bin/functions.zip"
  nullable    = false
}

variable "delete_protection" {
  description = "Refuse to delete the database and the service."
  type        = bool
  default     = true
  nullable    = false
}

variable "audit_logs" {
  description = "Log reads of secrets and uses of service accounts. Such logs are charged by volume."
  type        = bool
  default     = false
  nullable    = false
}
