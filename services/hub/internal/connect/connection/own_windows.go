package connection

import "io/fs"

// ownOnly accepts every file: the user's configuration directory is closed to other users by its access list, and the
// mode of a file says nothing on Windows.
func ownOnly(fs.FileInfo) error { return nil }

// configVariable returns the variable and the directory below it where the user's configuration is.
func configVariable() (name, below string) { return "AppData", "" }
