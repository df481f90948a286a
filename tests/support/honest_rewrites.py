"""Rewrites of real faults in forms that no authored answer has, by case: each must pay."""

from __future__ import annotations

HONEST: dict[str, str] = {
    "rw-001": "select v.visit_id, v.patient_no, v.room from visits v "
    "where v.visited_on between '2024-01-01' and '2024-12-31'",
    "rw-005": "select school_id, title from schools "
    "where school_id in (select school_id from enrolments)",
    "rw-009": "with cats as (select ferry_id from ferries where kind = 'catamaran') "
    "select c.ferry_id, count(*) as trips, sum(s.passengers) as carried "
    "from cats c join sailings s on s.ferry_id = c.ferry_id "
    "group by c.ferry_id having count(*) >= 2",
    "rw-013": "select s.seat_id, s.price from seats s "
    "where s.condition in ('removed', 'broken', 'worn') and s.hall = 'opera'",
    "rw-017": "select s.shift_id, s.hours, t.lead from shifts s "
    "join teams t on t.team_id = s.team_id and t.rota = 'night'",
    "rw-021": "select shipment_id, depot, pallets from shipments "
    "where shipment_id = any (array[118, 240, 371])",
    "rw-025": "select c.claim_id, c.paid, p.product from claims c "
    "join policies p on p.policy_id = c.policy_id where c.claim_no = 'C-9001' and c.paid > 0 "
    "union all select c.claim_id, c.paid, p.product from policies p "
    "join claims c on c.policy_id = p.policy_id "
    "where p.policy_no = 'P-77' and c.paid > 0 and c.claim_no is distinct from 'C-9001'",
    "rw-029": "select count(*) as total, "
    "count(case when state = 'cancelled' then 1 end) as cancelled, "
    "coalesce(sum(case when state = 'confirmed' then guests end), 0) as expected_guests, "
    "max(case when state = 'confirmed' then arrival end) as last_arrival from reservations",
    "rw-033": "select count(*) as permits, sum(p.fee) as fees from permits p "
    "where p.issued_on between date '2024-02-01' and date '2024-02-29'",
    "rw-037": "select p.project_id, p.title, "
    "(select count(*) from tasks t where t.project_id = p.project_id) as tasks, "
    "(select count(*) from expenses e where e.project_id = p.project_id) as expenses "
    "from projects p",
    "rw-041": "select i.invoice_no, i.debtor, i.amount from invoices i "
    "where i.issued_on between '2023-01-01' and '2023-12-31'",
    "rw-045": "select c.contract_id, c.region, c.monthly from contracts c "
    "join (select region, max(monthly) as top from contracts group by region) m "
    "on m.region = c.region and m.top = c.monthly where c.signed_on = '2024-02-29'",
    "rw-053": "(select 'web' as channel, w.sale_id, w.cents, w.sold_on from web_sales w) union all "
    "(select 'shop', s.sale_id, s.cents, s.sold_on from shop_sales s)",
}
