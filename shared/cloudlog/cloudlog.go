package cloudlog

import (
	"io"
	"log/slog"
)

// New is a logger that writes a line of JSON each: severity, message and timestamp,
// and the attributes under their own names.
func New(out io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) > 0 {
			return a
		}
		switch a.Key {
		case slog.LevelKey:
			a.Key = "severity"
			if a.Value.Any() == slog.LevelWarn {
				a.Value = slog.StringValue("WARNING")
			}
		case slog.MessageKey:
			a.Key = "message"
		case slog.TimeKey:
			a.Key = "timestamp"
		}
		return a
	}}))
}
