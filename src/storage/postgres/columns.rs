//! Rows on their way into a statement: one array a column, taken apart again by `unnest`.

/// Declares a set of rows with its columns. Adding a row and binding the arrays, in order, is all that it can do.
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
    };
}

pub(super) use columns;
