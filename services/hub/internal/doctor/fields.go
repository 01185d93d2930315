//go:build !laptop

package doctor

import (
	"context"
	"fmt"
	"strings"

	admin "google.golang.org/api/firestore/v1"
	"google.golang.org/api/option"
)

// overridden returns the fields whose indexes or TTL differ from the defaults of the database, by collection and path.
func (c *Cloud) overridden(ctx context.Context, s *session) (map[string]*admin.GoogleFirestoreAdminV1Field, error) {
	service, err := admin.NewService(ctx, option.WithHTTPClient(s.client))
	if err != nil {
		return nil, err
	}
	out := map[string]*admin.GoogleFirestoreAdminV1Field{}
	// The API documents no other filter.
	list := service.Projects.Databases.CollectionGroups.Fields.List(c.groupsPath()).Filter(
		"indexConfig.usesAncestorConfig=false OR ttlConfig:*")
	err = list.Pages(ctx, func(page *admin.GoogleFirestoreAdminV1ListFieldsResponse) error {
		for _, f := range page.Fields {
			_, path, _ := strings.Cut(f.Name, "/fields/")
			out[groupOf(f.Name)+"."+path] = f
		}
		return nil
	})
	return out, err
}

// settings returns the declared settings of fields, and the settings in the database by collection and path. If they
// cannot be read, failed is the result of the check.
func (c *Cloud) settings(ctx context.Context, s *session) (want declared,
	have map[string]*admin.GoogleFirestoreAdminV1Field, failed *Result) {
	want, err := c.declared()
	if err != nil {
		return want, nil, new(fail(err.Error(), ""))
	}
	have, err = c.overridden(ctx, s)
	if missing(err) {
		return want, nil, new(noDatabase())
	}
	if err != nil {
		return want, nil, new(c.refusal(s, err, right{"datastore.indexes.list", "roles/datastore.viewer"}))
	}
	return want, have, nil
}

// fields checks that Firestore keeps no index of the fields that no query needs.
func (c *Cloud) fields(ctx context.Context, s *session) Result {
	want, have, failed := c.settings(ctx, s)
	if failed != nil {
		return *failed
	}
	var indexed []string
	without := 0
	for _, o := range want.FieldOverrides {
		if len(o.Indexes) > 0 {
			continue
		}
		without++
		if name := o.CollectionGroup + "." + o.FieldPath; isIndexed(have[name]) {
			indexed = append(indexed, name)
		}
	}
	if len(indexed) > 0 {
		return warn(fmt.Sprintf("%s indexed without need (%s): writes cost more and large texts are refused",
			plural(len(indexed), "field is", "fields are"), few(indexed)), c.again())
	}
	return ok("%d fields without an index are as declared", without)
}

// isIndexed reports whether Firestore keeps an index of the field; it does by default.
func isIndexed(f *admin.GoogleFirestoreAdminV1Field) bool {
	return f == nil || f.IndexConfig == nil || f.IndexConfig.UsesAncestorConfig || len(f.IndexConfig.Indexes) > 0
}

// ttl checks the policies by which Firestore deletes expired documents.
func (c *Cloud) ttl(ctx context.Context, s *session) Result {
	want, have, failed := c.settings(ctx, s)
	if failed != nil {
		return *failed
	}
	var found []Result
	policies := 0
	for _, o := range want.FieldOverrides {
		if !o.TTL {
			continue
		}
		policies++
		name := o.CollectionGroup + "." + o.FieldPath
		state := ""
		if f := have[name]; f != nil && f.TtlConfig != nil {
			state = f.TtlConfig.State
		}
		switch state {
		case "ACTIVE":
		case "":
			found = append(found, fail(name+" has no TTL policy, so expired documents stay", c.again()))
		case building:
			found = append(found, warn(name+" is being activated", "wait; it applies to new documents already"))
		default:
			found = append(found,
				fail(name+" is "+state,
					fmt.Sprintf(
						"gcloud firestore fields ttls update %s --collection-group=%s --enable-ttl --project %s",
						o.FieldPath, o.CollectionGroup, c.Project)))
		}
	}
	return sum(ok("%s active", plural(policies, "policy is", "policies are")), found)
}
