package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/runner/hub"
	"parley.internal/shared/client"
	"parley.internal/shared/fault"
	"parley.internal/shared/team"
)

const (
	key    = "parley_a_secret"
	runner = "0b1f6f3e-runner"
)

func newTeam(t *testing.T, answer http.HandlerFunc) *hub.Team {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return &hub.Team{Client: calls(t, s), Name: "co/re", Key: key, KeyFrom: "the variable PARLEY_KEY", Runner: runner}
}

func calls(t *testing.T, s *httptest.Server) *client.Client {
	t.Helper()
	c, err := client.New(s.URL, key, client.WithHTTPClient(s.Client()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCallsUseTheRoutesAndInputsOfTheServer(t *testing.T) {
	t.Parallel()
	var asked string
	tm := newTeam(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = strings.Join([]string{r.Header.Get("Authorization"), r.Method, r.URL.RequestURI(), string(body)}, " ")
		_, _ = io.WriteString(w, `{"success":true,"data":{`+
			`"processes":[{"process_id":"p","plan_mode_required":true,"cwd":"c"}],`+
			`"process":{"process_id":"p","wanted":"ended"},"already_claimed":true}}`)
	})
	code := 0
	for want, call := range map[string]func() (team.Process, error){
		"GET /v1/teams/co%2Fre/processes?runner=" + runner + "&wait_ms=55000 ": func() (team.Process, error) {
			got, err := tm.Wanted(t.Context(), 55*time.Second)
			return got[0], err
		},
		"GET /v1/teams/co%2Fre/processes?held=true&runner=" + runner + " ": func() (team.Process, error) {
			got, err := tm.Held(t.Context())
			return got[0], err
		},
		"POST /v1/teams/co%2Fre/processes/p%2Fq/claim " + `{"runner":"` + runner + `"}`: func() (team.Process, error) {
			got, err := tm.Claim(t.Context(), "p/q")
			return got.Process, err
		},
		"POST /v1/teams/co%2Fre/processes/p/report " + `{"exit_code":0,"log_file":"/l","pid":7,"runner":"` + runner +
			`","started_at":"then","state":"exited"}`: func() (team.Process, error) {
			return tm.Report(t.Context(), "p", team.ReportInput{State: team.Exited, PID: 7, StartedAt: "then",
				ExitCode: &code, LogFile: "/l"})
		},
	} {
		got, err := call()
		if err != nil || asked != "Bearer "+key+" "+want || got.ProcessID != "p" {
			t.Errorf("got %+v, %v of %q, want %q", got, err, asked, want)
		}
	}
}

func TestALongErrorIsShortened(t *testing.T) {
	t.Parallel()
	var said struct{ Error string }
	tm := newTeam(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&said)
		_, _ = io.WriteString(w, `{"success":true,"data":{}}`)
	})
	if _, err := tm.Report(t.Context(), "p", team.ReportInput{Error: strings.Repeat("é", 3000)}); err != nil ||
		said.Error != strings.Repeat("é", 1999)+"…" {
		t.Errorf("got %d, %v", len(said.Error), err)
	}
}

func TestFaultsAreDistinguishedAndContainNoSecret(t *testing.T) {
	t.Parallel()
	says := func(code string) string {
		return `{"success":false,"error":{"code":"` + code + `","message":"no: ` + key + ` ` + runner +
			`","details":[]}}`
	}
	for _, c := range []struct {
		status                   int
		body, after              string
		gone, refused, permanent bool
		words                    string
		wait                     time.Duration
	}{
		{404, says("NOT_FOUND"), "", true, false, true, "no: … …", 0},
		{404, `{"success":false,"error":{"code":"NOT_FOUND",` +
			`"message":"there is no such route; /openapi.json lists them"}}`, "", false, false, true, "no such route", 0},
		{404, "<html>", "", false, false, false, "with status 404 is no Parley server", 0},
		{409, says("FAILED_PRECONDITION"), "", false, true, false, "no: … …", 0},
		{409, says("CONFLICT"), "", false, false, false, "no: … …", 0},
		{400, says("INVALID_ARGUMENT"), "", false, false, true, "no: … …", 0},
		{401, says("UNAUTHENTICATED"), "", false, false, true,
			"refuses the key of the variable PARLEY_KEY: no: … …; replace it", 0},
		{403, says("FORBIDDEN"), "", false, false, true,
			"the key of the variable PARLEY_KEY does not allow this: no: … …", 0},
		{429, says("RESOURCE_EXHAUSTED"), "7", false, false, false, "no: … …", 7 * time.Second},
		{503, says("UNAVAILABLE"), "9", false, false, false, "no: … …", 9 * time.Second},
		{503, "busy", "3", false, false, false, "is no Parley server", 3 * time.Second},
		{500, says("INTERNAL"), "", false, false, false, "no: … …", 0},
		{200, `{"success":true,"data":7}`, "", false, false, false, "cannot be read", 0},
		{200, `{}`, "", false, false, false, "is no Parley server", 0},
	} {
		tm := newTeam(t, func(w http.ResponseWriter, r *http.Request) {
			if c.after != "" {
				w.Header().Set("Retry-After", c.after)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := tm.Wanted(t.Context(), 0)
		var f *hub.Fault
		if !errors.As(err, &f) || hub.Gone(err) != c.gone || hub.Refused(err) != c.refused ||
			hub.Permanent(err) != c.permanent || !strings.Contains(f.Message, c.words) ||
			fault.From(err).RetryAfter != c.wait {
			t.Errorf("%d %s: got %+v, gone %v, refused %v, permanent %v", c.status, c.body, f, hub.Gone(err),
				hub.Refused(err), hub.Permanent(err))
		}
		if strings.Contains(err.Error(), key) || strings.Contains(err.Error(), runner) {
			t.Errorf("%d: %v", c.status, err)
		}
	}
}

func TestTheErrorNamesAnUnreachableServer(t *testing.T) {
	t.Parallel()
	const nowhere = "http://127.0.0.1:1"
	c, err := client.New(nowhere, key)
	if err != nil {
		t.Fatal(err)
	}
	tm := &hub.Team{Client: c, Name: "core", Key: key, Runner: runner}
	_, err = tm.Wanted(t.Context(), 0)
	if err == nil || !strings.HasPrefix(err.Error(), "no server answers at "+nowhere+" (") ||
		strings.Contains(err.Error(), runner) || hub.Permanent(err) || hub.Gone(err) || hub.Refused(err) {
		t.Error(err)
	}
}

func TestABackoffDoublesUpToALimitAndFollowsRetryAfter(t *testing.T) {
	t.Parallel()
	var b hub.Backoff
	for _, most := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
		most *= time.Second
		if d := b.Next(nil); d > most || d < most/2 {
			t.Errorf("got %v, want at most %v and half of it at least", d, most)
		}
	}
	for range 2000 {
		b.Next(nil)
	}
	if d := b.Next(nil); d > 30*time.Second || d < 15*time.Second {
		t.Errorf("got %v after many", d)
	}
	if d := b.Next(fault.New(fault.Exhausted, "no").After(time.Minute)); d != time.Minute {
		t.Errorf("got %v, want what the server asked for", d)
	}
	if d := b.Next(fault.New(fault.Exhausted, "no").After(24 * time.Hour)); d != 5*time.Minute {
		t.Errorf("got %v, want no day", d)
	}
	b.Reset()
	if d := b.Next(errors.New("any")); d > time.Second {
		t.Errorf("got %v after a success", d)
	}
}

func TestSleepEndsEarly(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	woken := make(chan struct{})
	close(woken)
	hub.Sleep(ended, time.Hour, nil)
	hub.Sleep(t.Context(), time.Hour, woken)
	hub.Sleep(t.Context(), time.Nanosecond, nil)
}
