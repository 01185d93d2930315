//go:build !laptop

package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admin "google.golang.org/api/firestore/v1"
	"google.golang.org/api/option"

	"parley.internal/shared/store/firestore"
)

const (
	ready, building = "READY", "CREATING"
	allUsers        = "COLLECTION_GROUP"
)

func (c *Cloud) databasePath() string { return "projects/" + c.Project + "/databases/(default)" }
func (c *Cloud) groupsPath() string   { return c.databasePath() + "/collectionGroups/-" }

func (c *Cloud) database(ctx context.Context, s *session) Result {
	service, err := admin.NewService(ctx, option.WithHTTPClient(s.client))
	if err != nil {
		return fail(err.Error(), "")
	}
	d, err := service.Projects.Databases.Get(c.databasePath()).Context(ctx).Do()
	if missing(err) {
		return fail("there is no database (default) in "+c.Project, c.again())
	}
	if err != nil {
		return c.refusal(s, err, right{"datastore.databases.getMetadata", "roles/datastore.viewer"})
	}
	var found []Result
	if d.Type != "FIRESTORE_NATIVE" {
		found = append(found,
			fail(fmt.Sprintf("(default) in %s is %s, and Parley needs native mode", d.LocationId, d.Type),
				"use another project, or delete the database if it is empty and deploy again"))
	}
	if d.RealtimeUpdatesMode == "REALTIME_UPDATES_MODE_DISABLED" {
		found = append(found,
			fail("realtime updates are off, and calls that wait need them", "use a database that has them"))
	}
	if d.DeleteProtectionState != "DELETE_PROTECTION_ENABLED" {
		found = append(found, warn("delete protection is off", "set delete_protection and deploy again"))
	}
	if d.PointInTimeRecoveryEnablement != "POINT_IN_TIME_RECOVERY_ENABLED" {
		found = append(found, warn("point-in-time recovery is off", "set point_in_time_recovery and deploy again"))
	}
	good := ok("(default) is in %s, in native mode, with delete protection and point-in-time recovery", d.LocationId)
	r := sum(good, found)
	if r.State == Warn {
		r.Said = fmt.Sprintf("(default) is in %s, in native mode; %s", d.LocationId, r.Said)
	}
	return r
}

// declared is the content of firestore.indexes.json, the expected indexes.
type declared struct {
	Indexes []struct {
		CollectionGroup, QueryScope string
		Fields                      []*admin.GoogleFirestoreAdminV1IndexField
	}
	FieldOverrides []struct {
		CollectionGroup, FieldPath string
		TTL                        bool
		Indexes                    []struct{ Order, ArrayConfig, QueryScope string }
	}
}

func (c *Cloud) declared() (d declared, err error) {
	text, err := firestore.IndexesJSON(c.Schema)
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(text, &d)
}

// spell returns the text form of an index, by which indexes are compared and reported: its collection, its fields and
// whether it is over all users.
func spell(group, scope string, fields []*admin.GoogleFirestoreAdminV1IndexField) string {
	var b strings.Builder
	b.WriteString(group + "(")
	for i, f := range withoutName(fields) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.FieldPath)
		switch {
		case f.ArrayConfig != "":
			b.WriteString("[]")
		case f.Order == "DESCENDING":
			b.WriteString(" desc")
		}
	}
	b.WriteString(")")
	if scope == allUsers {
		b.WriteString(" over all users")
	}
	return b.String()
}

// withoutName returns the fields without the document id that Firestore appends to each index, if the id has the order
// of the field before it.
func withoutName(fields []*admin.GoogleFirestoreAdminV1IndexField) []*admin.GoogleFirestoreAdminV1IndexField {
	last := len(fields) - 1
	if last < 1 || fields[last].FieldPath != "__name__" {
		return fields
	}
	order := fields[last-1].Order
	if order == "" {
		order = "ASCENDING"
	}
	if fields[last].Order != order {
		return fields
	}
	return fields[:last]
}

// groupOf returns the collection group in a resource name.
func groupOf(name string) string {
	_, rest, _ := strings.Cut(name, "/collectionGroups/")
	group, _, _ := strings.Cut(rest, "/")
	return group
}

func (c *Cloud) indexes(ctx context.Context, s *session) Result {
	want, err := c.declared()
	if err != nil {
		return fail(err.Error(), "")
	}
	service, err := admin.NewService(ctx, option.WithHTTPClient(s.client))
	if err != nil {
		return fail(err.Error(), "")
	}
	states := map[string]string{}
	err = service.Projects.Databases.CollectionGroups.Indexes.List(c.groupsPath()).Pages(ctx,
		func(page *admin.GoogleFirestoreAdminV1ListIndexesResponse) error {
			for _, x := range page.Indexes {
				states[spell(groupOf(x.Name), x.QueryScope, x.Fields)] = x.State
			}
			return nil
		})
	if missing(err) {
		return noDatabase()
	}
	if err != nil {
		return c.refusal(s, err, right{"datastore.indexes.list", "roles/datastore.viewer"})
	}
	var found []Result
	for _, x := range want.Indexes {
		name := spell(x.CollectionGroup, x.QueryScope, x.Fields)
		if r, usable := c.built(name, states[name]); !usable {
			found = append(found, r)
		}
	}
	return sum(ok("%d composite indexes are built", len(want.Indexes)), found)
}

func noDatabase() Result { return skip("not checked: there is no database") }

// built reports whether an index in this state is usable, and otherwise the finding.
func (c *Cloud) built(name, state string) (r Result, usable bool) {
	switch state {
	case ready:
		return r, true
	case "":
		return fail(name+" is missing", c.again()), false
	case building:
		return fail(name+" is being built", "wait; calls that need it fail until it is built"), false
	}
	return fail(name+" is "+state, "delete it (gcloud firestore indexes composite delete) and deploy again"), false
}
