-- name: NoteProvider :exec
insert into provider_states as p (provider, last_ok_at, last_fault_at, last_fault, paused_until, control_at, control_ok, control_why)
values (@provider, case when @fault::text = '' then clock_timestamp() end, case when @fault::text <> '' then clock_timestamp() end, @fault::text,
    case when sqlc.arg(pause_ms)::bigint > 0 then clock_timestamp() + sqlc.arg(pause_ms)::bigint * interval '1 ms' end,
    case when sqlc.arg(controls)::boolean then clock_timestamp() end, @passed, @why)
on conflict (provider) do update set
    last_ok_at = coalesce(excluded.last_ok_at, p.last_ok_at),
    last_fault_at = coalesce(excluded.last_fault_at, p.last_fault_at),
    last_fault = case when @fault::text = '' then p.last_fault else excluded.last_fault end,
    paused_until = greatest(excluded.paused_until, p.paused_until),
    control_at = coalesce(excluded.control_at, p.control_at),
    control_ok = case when sqlc.arg(controls)::boolean then excluded.control_ok else p.control_ok end,
    control_why = case when sqlc.arg(controls)::boolean then excluded.control_why else p.control_why end;

-- name: ProviderState :one
-- Plan: primary key; the newest thousand samples backwards by lag_samples_provider;
-- effects_look up to the clock.
select n.provider::text as provider, p.last_ok_at, p.last_fault_at, coalesce(p.last_fault, '')::text as last_fault,
    p.paused_until, clock_timestamp()::timestamptz as db_now,
    p.control_at, coalesce(p.control_ok, false)::boolean as control_ok, coalesce(p.control_why, '')::text as control_why,
    l.samples, l.lost, l.p50, l.p99, l.longest, l.newest,
    (select count(*) from (select from effects e where e.provider = n.provider and e.next_look_at <= (select clock_timestamp()) limit 1000) d)::int as due
from (select sqlc.arg(provider)::text as provider) n left join provider_states p on p.provider = n.provider,
    lateral (select count(*)::int as samples, count(*) filter (where s.lost)::int as lost,
        coalesce(percentile_disc(0.5) within group (order by s.lag_ms), 0)::bigint as p50,
        coalesce(percentile_disc(0.99) within group (order by s.lag_ms), 0)::bigint as p99,
        coalesce(max(s.lag_ms), 0)::bigint as longest, coalesce(max(s.committed_at), 'epoch')::timestamptz as newest
        from (select * from lag_samples a where a.provider = n.provider order by a.id desc limit 1000) s) l;

-- name: StartLagProbe :exec
-- The provider's newest commit becomes its probe, if it is fresh and none is under
-- way: an older one would measure its own age. Plan: effects_canary backwards.
insert into lag_probes (provider, effect_id, ref, begun_at, committed_at, next_at)
select e.provider, e.id, e.ref, e.created_at, e.state_at, clock_timestamp() from effects e
where e.provider = @provider and e.state = 'COMMITTED' and e.settled_by = 'worker' and not e.probably_double
    and e.state_at > clock_timestamp() - sqlc.arg(fresh_ms)::bigint * interval '1 ms'
    and not exists (select from lag_samples s where s.provider = @provider and s.committed_at > clock_timestamp() - sqlc.arg(every_ms)::bigint * interval '1 ms')
order by e.state_at desc limit 1
on conflict (provider) do nothing;

-- name: ClaimLagProbe :one
update lag_probes set tries = tries + 1, next_at = clock_timestamp() + sqlc.arg(claim_ms)::bigint * interval '1 ms'
where provider = @provider and next_at <= clock_timestamp()
returning effect_id, ref, begun_at, committed_at, missed_at, tries, clock_timestamp()::timestamptz as db_now;

-- name: PostponeLagProbe :exec
update lag_probes set next_at = clock_timestamp() + sqlc.arg(wait_ms)::bigint * interval '1 ms', missed_at = coalesce(sqlc.narg(missed_at), missed_at) where provider = @provider and effect_id = @effect_id;

-- name: EndLagProbe :execrows
delete from lag_probes where provider = @provider and effect_id = @effect_id;

-- name: AddLagSample :exec
insert into lag_samples (provider, effect_id, committed_at, lag_ms, lost)
values (@provider, @effect_id, @committed_at, @lag_ms, @lost);

-- name: TrimLagSamples :exec
delete from lag_samples s where s.provider = @provider
    and s.id < (select a.id from lag_samples a where a.provider = @provider order by a.id desc offset 999 limit 1);
