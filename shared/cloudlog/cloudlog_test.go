package cloudlog_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"parley.internal/shared/cloudlog"
)

func TestALineHasTheKeysThatCloudLoggingReads(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := cloudlog.New(&out)
	log.Warn("hot", "message", "mine", slog.Group("http", "level", 5))
	var line struct {
		Severity, Message, Timestamp string
		HTTP                         struct{ Level int }
	}
	err := json.Unmarshal(out.Bytes(), &line)
	if err != nil || line.Severity != "WARNING" || line.Timestamp == "" || line.HTTP.Level != 5 {
		t.Errorf("%s %v", out.String(), err)
	}
	for level, want := range map[slog.Level]string{slog.LevelInfo: "INFO", slog.LevelError: "ERROR"} {
		out.Reset()
		log.Log(t.Context(), level, "m")
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Severity != want || line.Message != "m" {
			t.Errorf("%s %v", out.String(), err)
		}
	}
}
