// Package direct delivers pushes to devices at addresses of their own: browsers by Web Push, topics of ntfy, and
// webhooks. It chooses the driver, limits the time and the number of the deliveries, and checks addresses when a device
// registers. It knows no users and stores nothing.
package direct
