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
				"take another project, or delete the database if it is empty and deploy again"))
	}
	if d.RealtimeUpdatesMode == "REALTIME_UPDATES_MODE_DISABLED" {
		found = append(found,
			fail("realtime updates are off, and calls that wait need them", "take a database that has them"))
	}
	if d.DeleteProtectionState != "DELETE_PROTECTION_ENABLED" {
		found = append(found, warn("delete protection is off", "set delete_protection and deploy again"))
	}
	if d.PointInTimeRecoveryEnablement != "POINT_IN_TIME_RECOVERY_ENABLED" {
		found = append(found, warn("point-in-time recovery is off", "set point_in_time_recovery and deploy again"))
	}
	well := ok("(default) is in %s, in native mode, with delete protection and point-in-time recovery", d.LocationId)
	r := sum(well, found)
	if r.State == Warn {
		r.Said = fmt.Sprintf("(default) is in %s, in native mode; %s", d.LocationId, r.Said)
	}
	return r
}

// declared is firestore.indexes.json.
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

// spell is an index as people and this package compare it: its collection, its fields and,
// where it is over all users, that.
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

// withoutName leaves out the id by which Firestore ends each index, where it goes the way
// that it would go by itself.
func withoutName(fields []*admin.GoogleFirestoreAdminV1IndexField) []*admin.GoogleFirestoreAdminV1IndexField {
	last := len(fields) - 1
	if last < 1 || fields[last].FieldPath != "__name__" {
		return fields
	}
	way := fields[last-1].Order
	if way == "" {
		way = "ASCENDING"
	}
	if fields[last].Order != way {
		return fields
	}
	return fields[:last]
}

// groupOf is the collection that a resource's name is below.
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
		if r, well := c.built(name, states[name]); !well {
			found = append(found, r)
		}
	}
	return sum(ok("%d composite indexes are built", len(want.Indexes)), found)
}

func noDatabase() Result { return skip("not looked at: there is no database") }

// built judges the state of one index.
func (c *Cloud) built(name, state string) (r Result, well bool) {
	switch state {
	case ready:
		return r, true
	case "":
		return fail(name+" is missing", c.again()), false
	case building:
		return fail(name+" is being built", "wait: calls that need it fail until it is there"), false
	}
	return fail(name+" is "+state, "delete it (gcloud firestore indexes composite delete) and deploy again"), false
}
