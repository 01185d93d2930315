package rules

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"parley.internal/shared/signal"
)

func settings() fields {
	return fields{"off": []string{"dreams"}, "quietHours": fields{
		"from":     "22:00",
		"to":       "07:30",
		"timeZone": "Europe/Berlin",
	},
		"perHour": 30, "changesPerHour": 5, "updatedAt": firestore.ServerTimestamp, "changedAt": firestore.ServerTimestamp}
}

func (d *fixture) settings() signal.SettingsView {
	d.t.Helper()
	v, err := d.Settings(d.t.Context(), d.person, signal.SettingsQuery{})
	if err != nil {
		d.t.Fatal(err)
	}
	return v
}

func sets(t *testing.T, p *project) {
	d := p.newFixture(t)
	mine := d.doc("settings/notifications")
	hours := func(from, to, zone string) fields {
		return fields{"quietHours": fields{"from": from, "to": to, "timeZone": zone}}
	}
	for name, changes := range map[string]fields{
		"as they are":        nil,
		"the fewest":         {"off": []string{}, "quietHours": drop, "perHour": drop, "changesPerHour": drop},
		"everything off":     {"off": []string{"questions", "alerts", "tasks", "dreams", "changes"}},
		"no pushes":          {"perHour": 0, "changesPerHour": 0},
		"what is done":       {"on": []string{"completions"}},
		"the most pushes":    {"perHour": 100, "changesPerHour": 20},
		"hours in UTC":       {"quietHours": fields{"from": "00:00", "to": "23:59"}},
		"hours of one digit": hours("7:00", "9:05", "UTC"),
		"a long zone":        hours("19:00", "20:00", "America/Argentina/ComodRivadavia"),
	} {
		written := with(settings(), changes)
		_, err := mine.Set(t.Context(), written)
		allowed(t, name, err)
		got := d.settings()
		if time.Since(got.UpdatedAt).Abs() > time.Minute {
			t.Errorf("%s: they were set at %v", name, got.UpdatedAt)
		}
		// The hub accepts the same settings and reads them alike.
		if _, err := d.Set(t.Context(), d.person, input(written)); err != nil {
			t.Errorf("%s: the hub refuses it: %v", name, err)
		}
		want := d.settings()
		if got.UpdatedAt = want.UpdatedAt; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: an app sets %+v\nthe hub sets %+v", name, got, want)
		}
	}
	for name, w := range map[string]signIn{
		"another user":      bob,
		"nobody":            nobody,
		"an anonymous user": {uid: d.user.uid, provider: "anonymous"},
	} {
		theirs := p.as(t, w).Doc(mine.Path[strings.Index(mine.Path, "users/"):])
		_, err := theirs.Set(t.Context(), settings())
		refused(t, name+" setting", err)
		_, err = theirs.Delete(t.Context())
		refused(t, name+" removing", err)
	}
	_, err := mine.Delete(t.Context())
	allowed(t, "removing", err)
	if d.settings().PerHour != 100 {
		t.Errorf("removed they are %+v", d.settings())
	}
}

// input returns the settings that an app wrote as the input of the hub's operation.
func input(written fields) signal.SettingsInput {
	var in signal.SettingsInput
	for _, about := range written["off"].([]string) {
		in.Off = append(in.Off, signal.About(about))
	}
	if on, ok := written["on"].([]string); ok {
		for _, about := range on {
			in.On = append(in.On, signal.About(about))
		}
	}
	if q, ok := written["quietHours"].(fields); ok {
		zone, _ := q["timeZone"].(string)
		in.Quiet = &signal.QuietHours{From: q["from"].(string), To: q["to"].(string), TimeZone: zone}
	}
	for name, to := range map[string]**int{"perHour": &in.PerHour, "changesPerHour": &in.ChangesPerHour} {
		if n, ok := written[name].(int); ok {
			*to = &n
		}
	}
	return in
}

func brokenSettings(t *testing.T, p *project) {
	d := p.newFixture(t)
	there := d.doc("settings/notifications")
	if _, err := there.Create(t.Context(), settings()); err != nil {
		t.Fatal(err)
	}
	before := d.settings()
	cases := map[string]fields{
		"without off":                    {"off": drop},
		"with a text for off":            {"off": "dreams"},
		"with an unknown thing off":      {"off": []string{"dreams", "phones"}},
		"with too much off":              {"off": []string{"dreams", "dreams", "dreams", "dreams", "dreams", "dreams"}},
		"with too many pushes":           {"perHour": 101},
		"with too few pushes":            {"perHour": -1},
		"with a part of a push":          {"perHour": 1.5},
		"with a text for pushes":         {"perHour": "7"},
		"with no number of pushes":       {"perHour": nil},
		"with too many changes":          {"changesPerHour": 21},
		"with a thing on twice":          {"on": []string{"completions", "completions"}},
		"with another thing on":          {"on": []string{"questions"}},
		"with on that is no list":        {"on": "completions"},
		"with too few changes":           {"changesPerHour": -1},
		"with no hours":                  {"quietHours": nil},
		"with a text for hours":          {"quietHours": "22:00-07:00"},
		"without their time":             {"updatedAt": drop},
		"at the app's time":              {"updatedAt": clock()},
		"changed at the app's time":      {"changedAt": clock()},
		"without the time of the change": {"changedAt": drop},
		"with more":                      {"sound": "loud"},
	}
	for name, hours := range map[string]fields{
		"that do not begin":       {"from": drop},
		"that do not end":         {"to": drop},
		"with a number":           {"from": 22},
		"past midnight":           {"from": "24:00"},
		"with too many minutes":   {"to": "07:60"},
		"with seconds":            {"to": "07:30:00"},
		"with half a minute":      {"to": "07:3"},
		"within a text":           {"to": "at 07:30"},
		"that end as they begin":  {"to": "22:00"},
		"in the zone of a server": {"timeZone": "Local"},
		"in a number of a zone":   {"timeZone": 1},
		"in a zone too long":      {"timeZone": strings.Repeat("x", 65)},
		"with more":               {"days": []int{1, 2}},
	} {
		cases["with hours "+name] = fields{"quietHours": with(settings()["quietHours"].(fields), hours)}
	}
	for name, broken := range cases {
		_, err := there.Set(t.Context(), with(settings(), broken))
		refused(t, name, err)
	}
	_, err := there.Update(t.Context(), []firestore.Update{{Path: "perHour", Value: 1}})
	refused(t, "one of them alone, without its times", err)
	_, err = d.doc("settings/mine").Set(t.Context(), settings())
	refused(t, "under another name", err)
	if after := d.settings(); !reflect.DeepEqual(after, before) {
		t.Errorf("what was refused made %+v of %+v", after, before)
	}
	_, err = there.Update(t.Context(), update(fields{
		"perHour":   1,
		"updatedAt": firestore.ServerTimestamp,
		"changedAt": firestore.ServerTimestamp,
	}))
	allowed(t, "one of them, with its times", err)
}
