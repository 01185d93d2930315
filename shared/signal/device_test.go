package signal

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

func TestADeviceIsRegisteredOnceByItsToken(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		first := d.device("a-token", "android")
		d.Pass(time.Hour)
		again, err := d.Register(t.Context(), person, DeviceInput{Token: "a-token", Platform: "ios",
			Name: "another name"})
		if err != nil || again.DeviceID != first || again.Name != "another name" || again.Platform != "ios" ||
			!again.RegisteredAt.Equal(t0.Add(time.Hour)) {
			t.Errorf("registered again: %+v, %v", again, err)
		}
		if second := d.device("another", "web"); second == first ||
			!slices.Equal(d.devices(), slices.Sorted(slices.Values([]string{first, second}))) {
			t.Errorf("there are %v", d.devices())
		}
		other := identity.Caller{User: "v", KeyID: "k", Kind: identity.Human}
		_, err = d.Unregister(t.Context(), other, DeviceIDInput{DeviceID: first})
		domaintest.Refused(t, "another user", err, fault.NotFound, first)
		gone, err := d.Unregister(t.Context(), person, DeviceIDInput{DeviceID: first})
		if err != nil || gone.DeviceID != first || len(d.devices()) != 1 {
			t.Errorf("%+v, %v, left %v", gone, err, d.devices())
		}
		_, err = d.Unregister(t.Context(), person, DeviceIDInput{DeviceID: first})
		domaintest.Refused(t, "a second time", err, fault.NotFound)
	})
}

func TestDevicesAreListedPageByPage(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		var all []string
		for i := range 7 {
			all = append(all, d.device(fmt.Sprint("token", i), "web"))
		}
		slices.Sort(all)
		var got []string
		in := DevicesInput{Limit: 3}
		for {
			page, err := d.Devices(t.Context(), person, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range page.Devices {
				got = append(got, v.DeviceID)
			}
			if in.Cursor = page.NextCursor; in.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, all) {
			t.Errorf("listed %v, want %v", got, all)
		}
	})
}

func TestSettingsAreReplacedAsAWhole(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		read := func() SettingsView {
			t.Helper()
			v, err := d.Settings(t.Context(), person, SettingsQuery{})
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		if v := read(); v.Off == nil || len(v.Off) != 0 || v.Quiet != nil || v.PerHour != 100 ||
			v.ChangesPerHour != 20 || !v.UpdatedAt.IsZero() {
			t.Errorf("before they were set: %+v", v)
		}
		d.set(SettingsInput{Off: []About{Dreams}, PerHour: new(7), ChangesPerHour: new(0),
			Quiet: &QuietHours{From: "22:00", To: "07:00", TimeZone: "Europe/Berlin"}})
		if v := read(); !slices.Equal(v.Off, []About{Dreams}) || v.PerHour != 7 || v.ChangesPerHour != 0 ||
			v.Quiet == nil || v.Quiet.TimeZone != "Europe/Berlin" || !v.UpdatedAt.Equal(t0) {
			t.Errorf("after they were set: %+v", v)
		}
		for _, bad := range []QuietHours{{From: "7:61", To: "08:00"}, {From: "07:00", To: "7"},
			{From: "07:00", To: "07:00"}, {From: "07:00", To: "08:00", TimeZone: "Local"}} {
			_, err := d.Service.Set(t.Context(), person, SettingsInput{Quiet: &bad})
			domaintest.Refused(t, fmt.Sprint(bad), err, fault.Invalid)
		}
		if v := read(); v.PerHour != 7 {
			t.Errorf("a refused call changed them: %+v", v)
		}
		d.set(SettingsInput{})
		if v := read(); len(v.Off) != 0 || v.Quiet != nil || v.PerHour != 100 {
			t.Errorf("after they were reset: %+v", v)
		}
	})
}
