//! Rows as parameters of a statement: one array per column, converted back to rows by `unnest`.

/// A set of rows.
pub(super) trait Rows {
    /// The number of rows. Every row has a tenant.
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Declares a set of rows with its columns. Rows are added, and the arrays bound in order.
macro_rules! columns {
    ($table:ident { $($column:ident: $kind:ty),+ $(,)? }) => {
        #[derive(Default)]
        pub(super) struct $table<'a> {
            $($column: Vec<$kind>,)+
            borrowed: std::marker::PhantomData<&'a ()>,
        }

        impl<'a> $table<'a> {
            pub(super) fn add(&mut self, ($($column,)+): ($($kind,)+)) {
                $(self.$column.push($column);)+
            }

            pub(super) fn bind(self, query: $crate::storage::postgres::session::Query<'_>)
                -> $crate::storage::postgres::session::Query<'_>
            {
                query$(.bind(self.$column))+
            }
        }

        impl $crate::storage::postgres::columns::Rows for $table<'_> {
            fn len(&self) -> usize {
                self.tenant_id.len()
            }
        }
    };
}

pub(super) use columns;
