# The indexes that queries need, the fields without indexes, and the TTL policies. All are derived from the declarations
# of the collections in the code.

locals {
  index_file = jsondecode(file("${path.module}/generated/firestore.indexes.json"))

  indexes = {
    for x in local.index_file.indexes :
    join(" ", concat([x.collectionGroup, x.queryScope], [
      for f in x.fields : "${f.fieldPath} ${try(f.order, f.arrayConfig)}"
    ])) => x
  }
  fields = { for f in local.index_file.fieldOverrides : "${f.collectionGroup}.${f.fieldPath}" => f }
}

resource "google_firestore_index" "composite" {
  for_each = local.indexes

  database    = google_firestore_database.default.name
  collection  = each.value.collectionGroup
  query_scope = each.value.queryScope

  dynamic "fields" {
    for_each = each.value.fields

    content {
      field_path   = fields.value.fieldPath
      order        = try(fields.value.order, null)
      array_config = try(fields.value.arrayConfig, null)
    }
  }
}

# A field whose index_config has no indexes is not indexed.
resource "google_firestore_field" "override" {
  for_each = local.fields

  database   = google_firestore_database.default.name
  collection = each.value.collectionGroup
  field      = each.value.fieldPath

  index_config {
    dynamic "indexes" {
      for_each = each.value.indexes

      content {
        query_scope  = indexes.value.queryScope
        order        = try(indexes.value.order, null)
        array_config = try(indexes.value.arrayConfig, null)
      }
    }
  }

  dynamic "ttl_config" {
    for_each = try(each.value.ttl, false) ? [true] : []
    content {}
  }
}
