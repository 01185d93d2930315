package firestore_test

import (
	"testing"
	"time"

	"parley.internal/shared/store"
	"parley.internal/shared/store/firestore"
)

type indexed struct {
	Status string `json:"status"`
	Body   string `json:"body"`
}

type purged struct {
	PurgeAt time.Time `json:"purgeAt"`
}

func indexes(t *testing.T, defs ...*store.Def) string {
	t.Helper()
	text, err := firestore.IndexesJSON(store.NewSchema(defs...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheIndexFileFollowsTheDeclarations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		def  *store.Def
		want string
	}{
		{"nothing for fields that Firestore indexes by itself",
			store.Collection[indexed]{Name: "plain", Indexes: []string{"status", "tags[]"}}.Def(),
			"{\n  \"indexes\": [],\n  \"fieldOverrides\": []\n}\n"},
		{"a composite for several fields, by the last segment of the name",
			store.Collection[indexed]{Name: "fires/*/sparks", Indexes: []string{"status,tags[],rank desc,createdAt"}}.Def(),
			`{
  "indexes": [
    {
      "collectionGroup": "sparks",
      "queryScope": "COLLECTION",
      "fields": [
        {
          "fieldPath": "status",
          "order": "ASCENDING"
        },
        {
          "fieldPath": "tags",
          "arrayConfig": "CONTAINS"
        },
        {
          "fieldPath": "rank",
          "order": "DESCENDING"
        },
        {
          "fieldPath": "createdAt",
          "order": "ASCENDING"
        }
      ]
    }
  ],
  "fieldOverrides": []
}
`},
		{"the group's scope for queries over all users, behind the shard",
			store.Collection[indexed]{Name: "wide", AllUsers: []string{"status,dueAt", "expiresAt"}}.Def(),
			`{
  "indexes": [
    {
      "collectionGroup": "wide",
      "queryScope": "COLLECTION_GROUP",
      "fields": [
        {
          "fieldPath": "sweepShard",
          "order": "ASCENDING"
        },
        {
          "fieldPath": "expiresAt",
          "order": "ASCENDING"
        }
      ]
    },
    {
      "collectionGroup": "wide",
      "queryScope": "COLLECTION_GROUP",
      "fields": [
        {
          "fieldPath": "sweepShard",
          "order": "ASCENDING"
        },
        {
          "fieldPath": "status",
          "order": "ASCENDING"
        },
        {
          "fieldPath": "dueAt",
          "order": "ASCENDING"
        }
      ]
    }
  ],
  "fieldOverrides": [
    {
      "collectionGroup": "wide",
      "fieldPath": "sweepShard",
      "indexes": []
    }
  ]
}
`},
		{"no index for a purge time and for large fields",
			store.Collection[purged]{Name: "gone", Unindexed: []string{"body"}}.Def(),
			`{
  "indexes": [],
  "fieldOverrides": [
    {
      "collectionGroup": "gone",
      "fieldPath": "body",
      "indexes": []
    },
    {
      "collectionGroup": "gone",
      "fieldPath": "purgeAt",
      "ttl": true,
      "indexes": []
    }
  ]
}
`},
		{"a purge time that a query names keeps its indexes",
			store.Collection[purged]{Name: "kept", Indexes: []string{"purgeAt"}}.Def(),
			`{
  "indexes": [],
  "fieldOverrides": [
    {
      "collectionGroup": "kept",
      "fieldPath": "purgeAt",
      "ttl": true,
      "indexes": [
        {
          "order": "ASCENDING",
          "queryScope": "COLLECTION"
        },
        {
          "order": "DESCENDING",
          "queryScope": "COLLECTION"
        },
        {
          "arrayConfig": "CONTAINS",
          "queryScope": "COLLECTION"
        }
      ]
    }
  ]
}
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := indexes(t, tc.def); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestTheIndexFileDoesNotDependOnTheOrderOfDeclaration(t *testing.T) {
	t.Parallel()
	a := store.Collection[purged]{Name: "apples", Indexes: []string{"b,a", "a,b", "a,b"}, Unindexed: []string{"y", "x"}}.Def()
	b := store.Collection[indexed]{Name: "pears", Indexes: []string{"a,b"}, AllUsers: []string{"a,b"}}.Def()
	if one, other := indexes(t, a, b), indexes(t, b, a); one != other {
		t.Errorf("one\n%s\nother\n%s", one, other)
	}
}

func TestAFieldMustNotBeIndexedAndUnindexed(t *testing.T) {
	t.Parallel()
	def := store.Collection[indexed]{Name: "torn", Indexes: []string{"status"}, Unindexed: []string{"status"}}.Def()
	if _, err := firestore.IndexesJSON(store.NewSchema(def)); err == nil {
		t.Error("no error")
	}
}
