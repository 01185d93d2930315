package task

import (
	"reflect"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

func TestAnAnswerIsRecordedWithItsAssuranceOrChangesNothing(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	person := func(a identity.Assurance) identity.Caller {
		return identity.Caller{User: "u", KeyID: "fedcba9876543210", Kind: identity.Human, Assurance: a}
	}
	proved := person(identity.Local)
	proved.Proved = true
	for name, c := range map[string]struct {
		demanded identity.Assurance
		by       identity.Caller
		with     identity.Assurance // empty where the answer is Forbidden
	}{
		"by a key on the machine":                  {identity.Local, person(identity.Local), identity.Local},
		"by a key from before":                     {identity.Local, person(""), identity.Local},
		"of a question from before":                {"", person(identity.Local), identity.Local},
		"by a device":                              {identity.Local, person(identity.Device), identity.Device},
		"by a device that is demanded":             {identity.Device, person(identity.Device), identity.Device},
		"by a key where a device is demanded":      {identity.Device, person(identity.Local), ""},
		"by an old key where a device is demanded": {identity.Device, person(""), ""},
		"by a device where a passkey is demanded":  {identity.Passkey, person(identity.Device), ""},
		"by a browser that a passkey signed in":    {identity.Device, person(identity.Passkey), identity.Device},
		"by it where a passkey is demanded":        {identity.Passkey, person(identity.Passkey), ""},
		"with a passkey":                           {identity.Passkey, proved, identity.Passkey},
		"with a passkey where less is demanded":    {"", proved, identity.Passkey},
		"by an agent":                              {"", identity.Caller{Kind: identity.Agent, Assurance: identity.Device}, ""},
	} {
		q := QuestionPart{Content: "?", Assurance: c.demanded}
		want := q
		if c.with != "" {
			want.Response, want.AnsweredAt, want.AnsweredBy, want.AnsweredWith = "yes", now, "key:fedcba987654", c.with
		}
		err := q.Answer(c.by, "yes", now)
		if !reflect.DeepEqual(q, want) || (c.with == "") != fault.Is(err, fault.Forbidden) || (c.with != "" && err != nil) {
			t.Errorf("%s: %+v, %v; want %+v", name, q, err, want)
		}
	}
}
