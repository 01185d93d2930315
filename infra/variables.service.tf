variable "public_url" {
  description = "URL of the server for clients, such as https://parley.example.org. Default: the service's own URL."
  type        = string
  default     = null

  validation {
    condition     = var.public_url == null || can(regex("^https://[a-z0-9.-]+$", var.public_url))
    error_message = "public_url must be https://HOST, without a slash at its end."
  }
}

variable "ingress" {
  description = "Networks that reach the service: all, internal (those of the project) or load-balancer (those, and a load balancer)."
  type        = string
  default     = "all"
  nullable    = false

  validation {
    condition     = contains(["all", "internal", "load-balancer"], var.ingress)
    error_message = "ingress must be all, internal or load-balancer."
  }
  validation {
    condition     = var.ingress != "load-balancer" || var.public_url != null
    error_message = "public_url must be set with a load balancer: it is the address that clients need."
  }
}

variable "allowed_origins" {
  description = "Origins of web pages that may call the server, in addition to its own."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for o in var.allowed_origins : can(regex("^https?://[A-Za-z0-9.:-]+$", o))])
    error_message = "allowed_origins must be origins such as https://example.org, without a path."
  }
}

variable "trust_proxy" {
  description = "Number of trusted proxies before the server: the caller's address is the entry of that number from the right in X-Forwarded-For. Default: 1, and 2 with ingress load-balancer."
  type        = number
  default     = null

  validation {
    condition     = var.trust_proxy == null || try(var.trust_proxy >= 0 && var.trust_proxy <= 20 && floor(var.trust_proxy) == var.trust_proxy, false)
    error_message = "trust_proxy must be a whole number from 0 to 20."
  }
}

variable "sign_in_allow" {
  description = "People who may sign in with Firebase: user IDs, verified e-mail addresses, and domains written @example.org. Default: nobody but those with the custom claim parley: true."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition = alltrue([for e in var.sign_in_allow :
    can(regex("^([A-Za-z0-9][A-Za-z0-9._-]{0,99}|[^@*,; \t\"]*@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)+)$", e)) && lower(e) != "local"])
    error_message = "sign_in_allow must be user IDs, e-mail addresses, or domains written @example.org; nobody signs in as local."
  }
}

variable "min_instances" {
  description = "Number of instances that always run. With 0 the first call after a pause waits for a start."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.min_instances >= 0 && floor(var.min_instances) == var.min_instances
    error_message = "min_instances must be a whole number, 0 or more."
  }
}

variable "max_instances" {
  description = "Largest number of instances, which bounds the cost."
  type        = number
  default     = 4
  nullable    = false

  validation {
    condition     = var.max_instances >= 1 && var.max_instances <= 100 && floor(var.max_instances) == var.max_instances
    error_message = "max_instances must be a whole number from 1 to 100."
  }
  validation {
    condition     = var.max_instances >= var.min_instances
    error_message = "max_instances must be at least min_instances."
  }
}

variable "concurrency" {
  description = "Calls that an instance serves at once, including waits."
  type        = number
  default     = 250
  nullable    = false

  validation {
    condition     = var.concurrency >= 1 && var.concurrency <= 1000 && floor(var.concurrency) == var.concurrency
    error_message = "concurrency must be a whole number from 1 to 1000."
  }
}

variable "cpu" {
  description = "CPUs of an instance."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = contains([1, 2, 4], var.cpu)
    error_message = "cpu must be 1, 2 or 4: less than one CPU allows neither concurrent calls nor CPU between calls."
  }
}

variable "memory" {
  description = "Memory of an instance."
  type        = string
  default     = "512Mi"
  nullable    = false

  validation {
    condition     = contains(["512Mi", "1Gi", "2Gi", "4Gi"], var.memory)
    error_message = "memory must be 512Mi, 1Gi, 2Gi or 4Gi."
  }
  validation {
    condition     = var.cpu < 4 || contains(["2Gi", "4Gi"], var.memory)
    error_message = "memory must be at least 2Gi with 4 CPUs."
  }
}

variable "cpu_always" {
  description = "Allocate CPU between calls too, so that the ledger is flushed every two seconds; an instance is then paid for as long as it lives. Otherwise only calls are paid for, and ledger records of the last call are written with the next one or when the instance is stopped."
  type        = bool
  default     = true
  nullable    = false

  validation {
    condition     = var.cpu_always || var.min_instances == 0
    error_message = "cpu_always must be true with min_instances above 0: instances that always run need CPU between calls."
  }
}

variable "request_timeout_seconds" {
  description = "Seconds that a call may take. The longest wait is 55 seconds, and the server itself ends a call after 75."
  type        = number
  default     = 90
  nullable    = false

  validation {
    condition     = var.request_timeout_seconds >= 60 && var.request_timeout_seconds <= 3600 && floor(var.request_timeout_seconds) == var.request_timeout_seconds
    error_message = "request_timeout_seconds must be a whole number from 60, for waits of up to 55 seconds, to 3600."
  }
}

variable "rate" {
  description = "Calls per second of a key to one instance; 0 for no limit. Default: the server's own limit."
  type        = number
  default     = null

  validation {
    condition     = var.rate == null || try(var.rate >= 0, false)
    error_message = "rate must be 0 or more."
  }
}

variable "burst" {
  description = "Calls of a key to one instance at once. Default: the server's own limit."
  type        = number
  default     = null

  validation {
    condition     = var.burst == null || try(var.burst >= 1 && floor(var.burst) == var.burst, false)
    error_message = "burst must be a whole number, 1 or more."
  }
}

variable "firebase_api_key" {
  description = "Firebase web API key with which the page signs people in. It is stored in Secret Manager, and not in the state."
  type        = string
  default     = null
  sensitive   = true
}

variable "firebase_api_key_version" {
  description = "Version of firebase_api_key: 0 for no key, 1 for the first, and one more for each later key."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.firebase_api_key_version >= 0 && floor(var.firebase_api_key_version) == var.firebase_api_key_version
    error_message = "firebase_api_key_version must be a whole number, 0 or more."
  }
}

variable "vapid_key_version" {
  description = "Version of the secret with the VAPID key of Web Push; infra/deploy makes the key and sets this. 0 for no Web Push."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.vapid_key_version >= 0 && floor(var.vapid_key_version) == var.vapid_key_version
    error_message = "vapid_key_version must be a whole number, 0 or more."
  }
}
