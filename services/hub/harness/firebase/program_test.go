package firebase_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley.internal/services/hub/harness/firebase"
	"parley.internal/services/hub/harness/hubtest"
)

// get makes a request with a token, and returns the status and the body.
func get(ctx context.Context, url, token string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

func TestTheServerThatShipsAdmitsThoseOfItsFlag(t *testing.T) {
	t.Parallel()
	e := start(t)
	hub := hubtest.Start(t, []string{firebase.Variable + "=" + e.Addr}, "--firebase-project", firebase.Project,
		"--sign-in-allow", "nobody,@shipped.example")
	for email, want := range map[string]int{"me@shipped.example": 200, "me@other.example": 403} {
		s := got[firebase.SignIn](t)(e.SignUp(t.Context(), email, password))
		hubtest.Must(t, e.Verify(t.Context(), s, email))
		s = got[firebase.SignIn](t)(e.Refreshed(t.Context(), s))
		status, body, err := get(t.Context(), hub.URL()+"/v1/tasks", s.Token)
		if err != nil || status != want || strings.Contains(body, "is not admitted") != (want == 403) {
			t.Errorf("%s: got %d %s, %v; want %d", email, status, body, err, want)
		}
		if strings.Contains(hub.Log.String(), s.Token) {
			t.Errorf("%s: the log tells the token", email)
		}
	}
	hub.Stop() // the log is complete
	if text := hub.Log.String(); strings.Count(text, `"message":"refused"`) != 1 || !strings.Contains(text, `"address":"127.0.0.1"`) {
		t.Errorf("got the log %s, want one line about the refusal", text)
	}
}
