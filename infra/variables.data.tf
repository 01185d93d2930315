variable "point_in_time_recovery" {
  description = "Keep every version of every document for seven days, to go back to any minute of them."
  type        = bool
  default     = true
  nullable    = false
}

variable "daily_backup_days" {
  description = "Days for which a day's backup is kept; 0 for none."
  type        = number
  default     = 7
  nullable    = false

  validation {
    condition     = var.daily_backup_days >= 0 && var.daily_backup_days <= 98 && floor(var.daily_backup_days) == var.daily_backup_days
    error_message = "daily_backup_days is a whole number from 0 to 98."
  }
}

variable "weekly_backup_weeks" {
  description = "Weeks for which a Sunday's backup is kept; 0 for none."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.weekly_backup_weeks >= 0 && var.weekly_backup_weeks <= 14 && floor(var.weekly_backup_weeks) == var.weekly_backup_weeks
    error_message = "weekly_backup_weeks is a whole number from 0 to 14."
  }
}

variable "trigger_max_instances" {
  description = "Instances of a trigger that may run at once."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.trigger_max_instances >= 1 && var.trigger_max_instances <= 100 && floor(var.trigger_max_instances) == var.trigger_max_instances
    error_message = "trigger_max_instances is a whole number from 1 to 100."
  }
}

variable "sweep_seconds" {
  description = "How long one run of a sweep goes on. What it does not get to the next one does."
  type        = number
  default     = 150
  nullable    = false

  validation {
    condition     = var.sweep_seconds >= 30 && var.sweep_seconds <= 240 && floor(var.sweep_seconds) == var.sweep_seconds
    error_message = "sweep_seconds is a whole number from 30 to 240, so that a run is over before the next one, 5 minutes later."
  }
}
