variable "alert_email" {
  description = "E-mail address that alerts are sent to. Without one, alerts show only in the console."
  type        = string
  default     = null

  validation {
    condition     = var.alert_email == null || can(regex("^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$", var.alert_email))
    error_message = "alert_email must be an e-mail address."
  }
}

variable "uptime_check_minutes" {
  description = "Minutes between uptime checks of the server: 1, 5, 10 or 15; 0 for no checks. Checks keep an instance running."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = contains([0, 1, 5, 10, 15], var.uptime_check_minutes)
    error_message = "uptime_check_minutes must be 0, 1, 5, 10 or 15."
  }
}

variable "error_ratio" {
  description = "Share of calls answered with 5xx in 5 minutes that raises an alert, with at least 6 such answers."
  type        = number
  default     = 0.05
  nullable    = false

  validation {
    condition     = var.error_ratio > 0 && var.error_ratio < 1
    error_message = "error_ratio must be between 0 and 1, such as 0.05."
  }
}

variable "p95_milliseconds" {
  description = "Limit of the 95th percentile of durations; above it for 10 minutes is an alert. Operations that can wait do not count."
  type        = number
  default     = 1000
  nullable    = false

  validation {
    condition     = var.p95_milliseconds > 0
    error_message = "p95_milliseconds must be more than 0."
  }
}

variable "function_failures" {
  description = "Failures of functions within 10 minutes that raise no alert yet. Each is retried automatically."
  type        = number
  default     = 3
  nullable    = false

  validation {
    condition     = var.function_failures >= 0
    error_message = "function_failures must be 0 or more."
  }
}

variable "billing_account" {
  description = "Billing account for a budget with alerts, such as 012345-6789AB-CDEF01. Default: no budget."
  type        = string
  default     = null

  validation {
    condition     = var.billing_account == null || can(regex("^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$", var.billing_account))
    error_message = "billing_account must have the form 012345-6789AB-CDEF01."
  }
}

variable "monthly_budget" {
  description = "Monthly budget in the billing account's currency. Exceeding it stops nothing."
  type        = number
  default     = 50
  nullable    = false

  validation {
    condition     = var.monthly_budget >= 1 && floor(var.monthly_budget) == var.monthly_budget
    error_message = "monthly_budget must be a whole number, 1 or more."
  }
}
