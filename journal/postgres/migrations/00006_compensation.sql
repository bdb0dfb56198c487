-- +goose Up
-- Compensation. Reason: a run that is given up leaves completed effects behind;
-- what undoes them is journaled like any other effect, so that it happens once.
alter table tools
    add column compensated_by text not null default '', -- the tool that undoes it
    add column compensate_run boolean not null default false; -- close_not_landed asks the runtime to undo the run

-- Which effect this one undoes. Null on the happy path, which pays a bit in the
-- row's null map and no index entry.
alter table effects add column compensates uuid;

-- Invariant: at most one compensation per effect.
create unique index effects_compensation on effects (compensates) where compensates is not null;

-- The resolution asks the runtime to undo the run.
alter table deliveries add column compensate boolean not null default false;

-- +goose Down
alter table deliveries drop column compensate;
drop index effects_compensation;
alter table effects drop column compensates;
alter table tools drop column compensate_run, drop column compensated_by;
