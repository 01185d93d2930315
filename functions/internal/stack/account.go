package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// AuthVariable names a Firebase Auth emulator, host:port.
const AuthVariable = "FIREBASE_AUTH_EMULATOR_HOST"

// The account that the hub of a stack admits.
const (
	email    = "person@example.org"
	password = "parley-emulator"
)

// signUp makes the account of the stack's user at an Auth emulator. An account of an earlier stack is replaced.
func (s *Stack) signUp(ctx context.Context, addr string) error {
	accounts := "http://" + addr + "/identitytoolkit.googleapis.com/v1/projects/" + Project + "/accounts"
	// There may be no such account.
	_ = owner(ctx, accounts+":delete", map[string]any{"localId": user})
	err := owner(ctx, accounts, map[string]any{"localId": user, "email": email, "password": password, "emailVerified": true})
	if err != nil {
		return fmt.Errorf("cannot make an account at the Auth emulator %s: %w", addr, err)
	}
	s.Email, s.Password = email, password
	return nil
}

// owner makes a call of the emulator as the owner of the project.
func owner(ctx context.Context, url string, in map[string]any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer owner")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s", res.Status, said)
	}
	return err
}
