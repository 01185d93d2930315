variable "public_url" {
  description = "Where clients find the server, as https://parley.example.org, where a domain of yours leads to it. The service's own URL where left out."
  type        = string
  default     = null

  validation {
    condition     = var.public_url == null || can(regex("^https://[a-z0-9.-]+$", var.public_url))
    error_message = "public_url is https://HOST, without a slash at its end."
  }
}

variable "ingress" {
  description = "Who reaches the service: all, internal (networks of the project) or load-balancer (those, and a load balancer of yours)."
  type        = string
  default     = "all"
  nullable    = false

  validation {
    condition     = contains(["all", "internal", "load-balancer"], var.ingress)
    error_message = "ingress is all, internal or load-balancer."
  }
  validation {
    condition     = var.ingress != "load-balancer" || var.public_url != null
    error_message = "Behind a load balancer clients need its address: give public_url."
  }
}

variable "allowed_origins" {
  description = "Origins of web pages, beside the server's own, that may call it."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for o in var.allowed_origins : can(regex("^https?://[A-Za-z0-9.:-]+$", o))])
    error_message = "allowed_origins are as https://example.org, without a path."
  }
}

variable "min_instances" {
  description = "Instances that always run. With none the first call after a pause waits for a start."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.min_instances >= 0 && floor(var.min_instances) == var.min_instances
    error_message = "min_instances is a whole number, 0 or more."
  }
}

variable "max_instances" {
  description = "Instances that may run at once, which bounds the cost."
  type        = number
  default     = 4
  nullable    = false

  validation {
    condition     = var.max_instances >= 1 && var.max_instances <= 100 && floor(var.max_instances) == var.max_instances
    error_message = "max_instances is a whole number from 1 to 100."
  }
  validation {
    condition     = var.max_instances >= var.min_instances
    error_message = "max_instances is at least min_instances."
  }
}

variable "concurrency" {
  description = "Calls that an instance serves at once, waiting ones among them."
  type        = number
  default     = 250
  nullable    = false

  validation {
    condition     = var.concurrency >= 1 && var.concurrency <= 1000 && floor(var.concurrency) == var.concurrency
    error_message = "concurrency is a whole number from 1 to 1000."
  }
}

variable "cpu" {
  description = "CPUs of an instance."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = contains([1, 2, 4], var.cpu)
    error_message = "cpu is 1, 2 or 4: less than one CPU allows neither many calls at once nor work between them."
  }
}

variable "memory" {
  description = "Memory of an instance."
  type        = string
  default     = "512Mi"
  nullable    = false

  validation {
    condition     = contains(["512Mi", "1Gi", "2Gi", "4Gi"], var.memory)
    error_message = "memory is 512Mi, 1Gi, 2Gi or 4Gi."
  }
  validation {
    condition     = var.cpu < 4 || contains(["2Gi", "4Gi"], var.memory)
    error_message = "4 CPUs need at least 2Gi of memory."
  }
}

variable "cpu_always" {
  description = "Give an instance its CPU between calls too, so that the ledger is flushed every two seconds; it is then paid for as long as it lives. Otherwise only calls are paid for, and what the last one left for the ledger is written with the next or when the instance is stopped."
  type        = bool
  default     = true
  nullable    = false

  validation {
    condition     = var.cpu_always || var.min_instances == 0
    error_message = "Instances that always run are for work between calls: leave cpu_always on, or set min_instances to 0."
  }
}

variable "request_timeout_seconds" {
  description = "How long a call may take. The longest wait is 55 seconds, and the server itself ends a call after 75."
  type        = number
  default     = 90
  nullable    = false

  validation {
    condition     = var.request_timeout_seconds >= 60 && var.request_timeout_seconds <= 3600 && floor(var.request_timeout_seconds) == var.request_timeout_seconds
    error_message = "request_timeout_seconds is a whole number from 60, for waits of up to 55 seconds, to 3600."
  }
}

variable "rate" {
  description = "Calls a second that a key may make of one instance, 0 for no limit. The server's own limit where left out."
  type        = number
  default     = null

  validation {
    condition     = var.rate == null || try(var.rate >= 0, false)
    error_message = "rate is 0 or more."
  }
}

variable "burst" {
  description = "Calls that a key may make of one instance at once. The server's own limit where left out."
  type        = number
  default     = null

  validation {
    condition     = var.burst == null || try(var.burst >= 1 && floor(var.burst) == var.burst, false)
    error_message = "burst is a whole number, 1 or more."
  }
}

variable "firebase_api_key" {
  description = "Firebase web API key by which the page signs people in. It goes into Secret Manager, and not into the state."
  type        = string
  default     = null
  sensitive   = true
}

variable "firebase_api_key_version" {
  description = "0 for no key; 1 with the first, and one more with each other that you give."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.firebase_api_key_version >= 0 && floor(var.firebase_api_key_version) == var.firebase_api_key_version
    error_message = "firebase_api_key_version is a whole number, 0 or more."
  }
}
