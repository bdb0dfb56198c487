-- +goose Up
-- When the probe was last looked for and not there: it showed some time after
-- that. A sample whose look came late, since a server was killed or the provider
-- could not be asked, would measure that instead of the lag.
alter table lag_probes add column missed_at timestamptz;

-- +goose Down
alter table lag_probes drop column missed_at;
