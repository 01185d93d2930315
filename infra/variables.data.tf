variable "point_in_time_recovery" {
  description = "Keep every version of every document for seven days, so that any minute of them can be restored."
  type        = bool
  default     = true
  nullable    = false
}

variable "daily_backup_days" {
  description = "Days for which daily backups are kept; 0 for no daily backups."
  type        = number
  default     = 7
  nullable    = false

  validation {
    condition     = var.daily_backup_days >= 0 && var.daily_backup_days <= 98 && floor(var.daily_backup_days) == var.daily_backup_days
    error_message = "daily_backup_days must be a whole number from 0 to 98."
  }
}

variable "weekly_backup_weeks" {
  description = "Weeks for which weekly backups are kept; 0 for no weekly backups."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.weekly_backup_weeks >= 0 && var.weekly_backup_weeks <= 14 && floor(var.weekly_backup_weeks) == var.weekly_backup_weeks
    error_message = "weekly_backup_weeks must be a whole number from 0 to 14."
  }
}

variable "trigger_max_instances" {
  description = "Largest number of instances of a trigger."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.trigger_max_instances >= 1 && var.trigger_max_instances <= 100 && floor(var.trigger_max_instances) == var.trigger_max_instances
    error_message = "trigger_max_instances must be a whole number from 1 to 100."
  }
}

variable "sweep_seconds" {
  description = "Seconds after which a run of a sweep stops. The next run continues its work."
  type        = number
  default     = 150
  nullable    = false

  validation {
    condition     = var.sweep_seconds >= 30 && var.sweep_seconds <= 240 && floor(var.sweep_seconds) == var.sweep_seconds
    error_message = "sweep_seconds must be a whole number from 30 to 240, so that a run ends before the next one, 5 minutes later."
  }
}
