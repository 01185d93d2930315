variable "alert_email" {
  description = "Who is told by e-mail when an alert fires. Nobody where left out; the console shows it all the same."
  type        = string
  default     = null

  validation {
    condition     = var.alert_email == null || can(regex("^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$", var.alert_email))
    error_message = "alert_email is an e-mail address."
  }
}

variable "uptime_check_minutes" {
  description = "How often the server's health is asked for from outside: every 1, 5, 10 or 15 minutes; 0 for never. An instance stays up while it is asked."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = contains([0, 1, 5, 10, 15], var.uptime_check_minutes)
    error_message = "uptime_check_minutes is 0, 1, 5, 10 or 15."
  }
}

variable "error_ratio" {
  description = "Share of calls answered with 5xx in 5 minutes that is an alert, from 6 such answers up."
  type        = number
  default     = 0.05
  nullable    = false

  validation {
    condition     = var.error_ratio > 0 && var.error_ratio < 1
    error_message = "error_ratio is between 0 and 1, as 0.05."
  }
}

variable "p95_milliseconds" {
  description = "Duration that 95 of 100 operations stay under; more, for 10 minutes, is an alert. Operations that can wait for something do not count."
  type        = number
  default     = 1000
  nullable    = false

  validation {
    condition     = var.p95_milliseconds > 0
    error_message = "p95_milliseconds is more than 0."
  }
}

variable "function_failures" {
  description = "Failures of functions within 10 minutes that are not yet an alert. Each is tried again by itself."
  type        = number
  default     = 3
  nullable    = false

  validation {
    condition     = var.function_failures >= 0
    error_message = "function_failures is 0 or more."
  }
}

variable "billing_account" {
  description = "Billing account, as 012345-6789AB-CDEF01, on which a budget with alerts is set. No budget where left out."
  type        = string
  default     = null

  validation {
    condition     = var.billing_account == null || can(regex("^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$", var.billing_account))
    error_message = "billing_account is as 012345-6789AB-CDEF01."
  }
}

variable "monthly_budget" {
  description = "The budget of a month, in the billing account's currency. Passing it stops nothing."
  type        = number
  default     = 50
  nullable    = false

  validation {
    condition     = var.monthly_budget >= 1 && floor(var.monthly_budget) == var.monthly_budget
    error_message = "monthly_budget is a whole number, 1 or more."
  }
}
