package operator_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"parley.internal/services/hub/internal/doctor"
	"parley.internal/services/hub/internal/operator"
	"parley.internal/shared/app"
	"parley.internal/shared/fault"
	"parley.internal/shared/keys"
	"parley.internal/shared/store"
	"parley.internal/shared/store/sqlite"
	"parley.internal/shared/team"
)

const token = "the-token"

// ends returns the operator of an empty store, and one that reaches it by way of a socket.
func ends(t *testing.T) (local *operator.Local, remote *operator.Remote) {
	t.Helper()
	dir := t.TempDir()
	file, err := sqlite.Open(t.Context(), filepath.Join(dir, "parley.db"), app.Schema())
	if err != nil {
		t.Fatal(err)
	}
	db := store.New(file, app.Schema())
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	local = &operator.Local{App: app.New(db, app.Ports{}), DB: db, File: file, Dir: dir,
		Laptop: func() *doctor.Laptop {
			return &doctor.Laptop{File: file.File(), Layout: sqlite.Layout(), Inspect: file.Inspect}
		}}
	return local, reach(t, local, token)
}

// reach returns an operator that reaches another with a token.
func reach(t *testing.T, o operator.Operator, with string) *operator.Remote {
	t.Helper()
	s := httptest.NewServer(operator.Handler(o, t.TempDir(), token, func(string) {}))
	t.Cleanup(s.Close)
	return operator.NewRemote(func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
	}, with)
}

func TestTheServerAnswersAsTheStoreItself(t *testing.T) {
	t.Parallel()
	local, remote := ends(t)
	ctx := t.Context()
	made, err := remote.Issue(ctx, "ann", keys.CreateInput{Program: "alpha", Name: "of the test"})
	if err != nil || !strings.HasPrefix(made.Key, "parley_") || made.Program != "alpha" {
		t.Fatalf("%+v, %v", made, err)
	}
	if link, err := remote.Link(ctx, "ann", true); err != nil || link.Code == "" || link.ExpiresAt.IsZero() {
		t.Errorf("a link: %+v, %v", link, err)
	}
	a := team.Archive{Config: team.Config{Name: "core", Description: "d", LeadAgentID: "team-lead@core",
		Members: []team.Member{{AgentID: "team-lead@core", Name: "team-lead"}}},
		Inboxes: map[string][]team.Message{"team-lead": {{From: "x", Text: "hello <b>", Timestamp: "2026-01-01T00:00:00Z"}}},
		Tasks:   []team.Task{{ID: "1", Subject: "s", Status: "pending", Metadata: []byte(`{"a":null}`)}}}
	if err := remote.ImportTeam(ctx, "ann", "", a); err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(operator.Operator) (any, error){
		"keys":                    func(o operator.Operator) (any, error) { return o.Keys(ctx, "ann", keys.ListInput{Limit: 5}) },
		"devices":                 func(o operator.Operator) (any, error) { d, err := o.Devices(ctx, "ann"); return len(d), err },
		"team":                    func(o operator.Operator) (any, error) { return o.ExportTeam(ctx, "ann", "core") },
		"no team":                 func(o operator.Operator) (any, error) { return o.ExportTeam(ctx, "ann", "none") },
		"examine":                 func(o operator.Operator) (any, error) { return o.Examine(ctx, "whole") },
		"another version's check": func(o operator.Operator) (any, error) { return o.Examine(ctx, "of the future") },
		"passkeys":                func(o operator.Operator) (any, error) { return o.Passkeys(ctx, "ann") },
		"no passkey":              func(o operator.Operator) (any, error) { return o.DiscardPasskey(ctx, "ann", "none") },
		"no key":                  func(o operator.Operator) (any, error) { return o.Revoke(ctx, "ann", "none") },
		"a bad user":              func(o operator.Operator) (any, error) { return o.Issue(ctx, "a b", keys.CreateInput{}) },
		"no backup": func(o operator.Operator) (any, error) {
			return o.Restore(ctx, filepath.Join(local.Dir, "none.db"))
		},
		"an export": func(o operator.Operator) (any, error) {
			var b bytes.Buffer
			n, err := o.Export(ctx, "ann", &b)
			return [2]any{n, b.String()}, err
		},
		"an empty export":  func(o operator.Operator) (any, error) { return o.Export(ctx, "nobody", io.Discard) },
		"a refused export": func(o operator.Operator) (any, error) { return o.Export(ctx, "__x", io.Discard) },
	} {
		want, wantErr := ask(local)
		got, err := ask(remote)
		if !reflect.DeepEqual(got, want) && wantErr == nil {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
		if (err == nil) != (wantErr == nil) || err != nil && (err.Error() != wantErr.Error() || fault.Of(err) != fault.Of(wantErr)) {
			t.Errorf("%s: got the error %v, want %v", name, err, wantErr)
		}
	}
	if _, err := remote.Revoke(ctx, "ann", made.ID); err != nil {
		t.Error(err)
	}
	if local.Served() || !remote.Served() {
		t.Error("a store that is locked is served, or one that a server has is not")
	}
}

func TestTheServerBacksUpAndRestoresTheStore(t *testing.T) {
	t.Parallel()
	local, remote := ends(t)
	ctx := t.Context()
	made, err := remote.Issue(ctx, "ann", keys.CreateInput{Program: "alpha"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b.db")
	n, err := remote.Backup(ctx, file)
	if err != nil || n == 0 {
		t.Errorf("a backup: %d, %v", n, err)
	}
	if n, err := remote.Erase(ctx, "ann"); err != nil || n == 0 {
		t.Errorf("erased %d, %v", n, err)
	}
	back, err := remote.Restore(ctx, file)
	if err != nil || back.Before != 0 || back.After != n || back.Kept != "" {
		t.Errorf("restored %+v, %v; want %d", back, err, n)
	}
	if again, err := remote.Restore(ctx, file); err != nil || filepath.Dir(again.Kept) != local.Dir {
		t.Errorf("restored %+v, %v", again, err)
	}
	if _, err := remote.Revoke(ctx, "ann", made.ID); err != nil {
		t.Errorf("the restored key: %v", err)
	}
}

func TestAttackACallWithoutTheTokenIsRefused(t *testing.T) {
	t.Parallel()
	local, _ := ends(t)
	for _, with := range []string{"", "the-toke", "the-token2"} {
		if _, err := reach(t, local, with).Issue(t.Context(), "ann", keys.CreateInput{}); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("with %q: %v", with, err)
		}
	}
	if list, err := local.Keys(t.Context(), "ann", keys.ListInput{Limit: 1}); err != nil || len(list.Keys) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// broken exports a part of the documents and fails.
type broken struct{ operator.Operator }

// Export implements operator.Operator.
func (broken) Export(_ context.Context, _ string, to io.Writer) (int, error) {
	_, err := to.Write([]byte("{}\n"))
	return 1, errors.Join(err, fault.New(fault.Unavailable, "the disk\nfailed"))
}

func TestAnExportThatFailsInTheMiddleIsAnError(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if _, err := reach(t, broken{}, token).Export(t.Context(), "ann", &b); !fault.Is(err, fault.Unavailable) ||
		err.Error() != "the disk\nfailed" || b.String() != "{}\n" {
		t.Errorf("%v, %q", err, b.String())
	}
}

func TestACallThatTheServerDoesNotKnowSaysWhy(t *testing.T) {
	t.Parallel()
	req := httptest.NewRequest(http.MethodPost, "/of-the-future", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	operator.Handler(nil, t.TempDir(), token, func(string) {}).ServeHTTP(w, req)
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "of another version") {
		t.Errorf("%d, %s", w.Code, w.Body)
	}
}
