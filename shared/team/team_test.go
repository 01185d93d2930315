package team

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
)

func create(t *testing.T, s *world, c identity.Caller, name string) CreateOutput {
	t.Helper()
	out, err := s.Create(t.Context(), c, CreateInput{TeamName: name, Description: "what for"})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestATeamHasTheShapeOfTheFileFormat(t *testing.T) {
	each(t, func(t *testing.T, s *world) {
		if out := create(t, s, alpha, "core"); out != (CreateOutput{"core", "team-lead@core", "id-000001"}) {
			t.Errorf("%+v", out)
		}
		cfg, err := s.ReadConfig(t.Context(), beta, NameInput{"core"})
		text, jsonErr := json.Marshal(cfg)
		want := `{"name":"core","description":"what for","createdAt":1772366400000,` +
			`"leadAgentId":"team-lead@core","leadSessionId":"id-000001",` +
			`"members":[{"agentId":"team-lead@core","name":"team-lead","agentType":"team-lead","model":"",` +
			`"joinedAt":1772366400000,` +
			`"tmuxPaneId":"","cwd":"","subscriptions":[]}],"processes":[]}`
		if err != nil || jsonErr != nil || string(text) != want {
			t.Errorf("%s, %v", text, err)
		}
	})
}

func TestAnIdentityLeadsOneTeamAtATime(t *testing.T) {
	each(t, func(t *testing.T, s *world) {
		create(t, s, alpha, "one")
		for _, name := range []string{"two", "one"} {
			_, err := s.Create(t.Context(), alpha, CreateInput{TeamName: name})
			says(t, err, fault.Precondition, "Session already has active team: one. One team per session.")
		}
		other := alpha
		other.KeyID = "another key of the same program"
		_, err := s.Create(t.Context(), other, CreateInput{TeamName: "two"})
		says(t, err, fault.Precondition, "Session already has active team: one. One team per session.")
		create(t, s, beta, "three")
		create(t, s, loose, "four")
		create(t, s, identity.Caller{User: "u", KeyID: "k2"}, "five")
		create(t, s, identity.Caller{User: "v", Program: "alpha", KeyID: "ka"}, "one")
	})
}

func TestATeamThatExistsIsNotOverwritten(t *testing.T) {
	each(t, func(t *testing.T, s *world) {
		create(t, s, alpha, "core")
		if _, err := s.Create(t.Context(), beta, CreateInput{TeamName: "core", Description: "mine"}); !fault.Is(err,
			fault.Exists) || !strings.Contains(err.Error(), "core") {
			t.Error(err)
		}
		if cfg, err := s.ReadConfig(t.Context(), alpha, NameInput{"core"}); err != nil ||
			cfg.Description != "what for" {
			t.Errorf("%+v, %v", cfg, err)
		}
		create(t, s, beta, "other") // the refused call did not make beta a lead
	})
}

func TestDeletingATeamFreesItsLead(t *testing.T) {
	each(t, func(t *testing.T, s *world) {
		create(t, s, alpha, "core")
		_, err := s.Delete(t.Context(), beta, NameInput{"core"})
		says(t, err, fault.Forbidden, `only the lead of team core or a human may do this; this key speaks for "beta"`)
		if out, err := s.Delete(t.Context(), alpha, NameInput{"core"}); err != nil ||
			out != (DeleteOutput{"core", true}) {
			t.Errorf("%+v, %v", out, err)
		}
		_, err = s.ReadConfig(t.Context(), alpha, NameInput{"core"})
		says(t, err, fault.NotFound, "Team core not found")
		_, err = s.Delete(t.Context(), alpha, NameInput{"core"})
		says(t, err, fault.NotFound, "Team core does not exist")
		create(t, s, alpha, "next")
		create(t, s, beta, "core")
	})
}

func TestATeamWithTeammatesIsNotDeleted(t *testing.T) {
	each(t, func(t *testing.T, s *world) {
		create(t, s, alpha, "core")
		for n := 1; n <= 2; n++ {
			s.spawn("core", fmt.Sprintf("mate-%d", n), External)
			_, err := s.Delete(t.Context(), alpha, NameInput{"core"})
			says(
				t,
				err,
				fault.Precondition,
				fmt.Sprintf(
					"Cannot delete team core: %d non-lead member(s) still present. Remove all teammates before deleting.",
					n,
				),
			)
		}
		_, err := s.Create(t.Context(), alpha, CreateInput{TeamName: "next"})
		says(t, err, fault.Precondition, "Session already has active team: core. One team per session.")
	})
}

func TestAMalformedNameIsRefusedWithItsMessage(t *testing.T) {
	each(t, func(t *testing.T, s *world) {
		long := strings.Repeat("abcdefghij", 7)[:65]
		for name, words := range map[string]string{
			"":             "Invalid team name: ''. Use only letters, numbers, hyphens, underscores.",
			"a b":          "Invalid team name: 'a b'. Use only letters, numbers, hyphens, underscores.",
			"../etc":       "Invalid team name: '../etc'. Use only letters, numbers, hyphens, underscores.",
			"naïve":        "Invalid team name: 'naïve'. Use only letters, numbers, hyphens, underscores.",
			"line\n":       "Invalid team name: 'line\n'. Use only letters, numbers, hyphens, underscores.",
			long:           "Team name too long (65 chars, max 64): 'abcdefghijabcdefghij'...",
			long + "é":     "Invalid team name: '" + long + "é'. Use only letters, numbers, hyphens, underscores.",
			long + "-more": "Team name too long (70 chars, max 64): 'abcdefghijabcdefghij'...",
		} {
			_, err := s.Create(t.Context(), alpha, CreateInput{TeamName: name})
			says(t, err, fault.Invalid, words)
			_, err = s.Delete(t.Context(), alpha, NameInput{name})
			says(t, err, fault.Invalid, words)
			_, err = s.ReadConfig(t.Context(), alpha, NameInput{name})
			says(t, err, fault.Invalid, words)
		}
	})
}

// The names include those that Firestore reserves for document ids.
func TestEveryAllowedNameNamesATeam(t *testing.T) {
	each(t, func(t *testing.T, s *world) {
		for i, name := range []string{"a", "-", "_", "__", "__core__", "____", "0", strings.Repeat("x", 64)} {
			c := identity.Caller{User: "u", KeyID: fmt.Sprintf("k%d", i)}
			if out, err := s.Create(t.Context(), c, CreateInput{TeamName: name}); err != nil ||
				out.LeadAgentID != "team-lead@"+name {
				t.Errorf("create %s: %v", name, err)
				continue
			}
			if cfg, err := s.ReadConfig(t.Context(), c, NameInput{name}); err != nil || cfg.Name != name {
				t.Errorf("read %s: %v", name, err)
			}
			if _, err := s.Delete(t.Context(), c, NameInput{name}); err != nil {
				t.Errorf("delete %s: %v", name, err)
			}
		}
	})
}

func TestAnIdempotencyKeyCreatesATeamOnce(t *testing.T) {
	each(t, func(t *testing.T, s *world) {
		in := CreateInput{Idempotency: op.Idempotency{IdempotencyKey: "k"}, TeamName: "core"}
		first, err := s.Create(t.Context(), alpha, in)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Create(t.Context(), alpha, in); err != nil || again != first {
			t.Errorf("%+v, first %+v, %v", again, first, err)
		}
		in.TeamName = "other"
		_, err = s.Create(t.Context(), alpha, in)
		says(t, err, fault.Precondition,
			`idempotencyKey "k" was used for another team_create; take a new key for a new call`)
	})
}

func TestOfConcurrentCreationsAnIdentityLeadsOneTeam(t *testing.T) {
	each(t, func(t *testing.T, s *world) {
		lost := domaintest.Together(4, func(i int) error {
			in := CreateInput{TeamName: fmt.Sprintf("team-%d", i)}
			_, err := s.Create(t.Context(), alpha, in)
			for (fault.Is(err, fault.Conflict) || fault.Is(err, fault.Exists)) && t.Context().Err() == nil {
				_, err = s.Create(t.Context(), alpha, in)
			}
			return err
		})
		for _, err := range lost {
			domaintest.Refused(t, "one that lost", err, fault.Precondition)
		}
		page, err := teams.Query(t.Context(), s.DB.User("u"), store.Query{Limit: 10})
		if len(lost) != 3 || err != nil || len(page.Docs) != 1 {
			t.Errorf("%d won, %d teams, %v", 4-len(lost), len(page.Docs), err)
		}
	})
}
