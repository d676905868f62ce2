"""`syncopate transactionalize`: from locks to transactions, by Coccinelle and the compiler."""
